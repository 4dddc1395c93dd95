// Linked into the libFuzzer binaries that read IR. Bytes changed at random
// seldom parse: half of the time a token is changed to another of its kind that
// the text has (a number, a name, a type, a list), or a line is copied.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

namespace {
struct Token {
  size_t begin, length;
  char kind; // 0 number, a word, % value, # alias, " text, { list, x other
};
} // namespace

static bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

static size_t wordEnd(const std::string &text, size_t at) {
  while (at < text.size() && isWordCharacter(text[at]))
    ++at;
  return at;
}

/// The closing bracket's end, or just past the opening one.
static size_t listEnd(const std::string &text, size_t at) {
  size_t end = text.find_first_of("{}\n", at + 1);
  return end != std::string::npos && text[end] == '}' ? end + 1 : at + 1;
}

static std::vector<Token> tokensOf(const std::string &text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t end = at + 1;
    char kind = 'x';
    if (std::isdigit(static_cast<unsigned char>(c))) {
      kind = '0';
      while (end < text.size() &&
             std::isdigit(static_cast<unsigned char>(text[end])))
        ++end;
    } else if (isWordCharacter(c)) {
      kind = 'a';
      end = wordEnd(text, at);
    } else if (c == '%' || c == '#' || c == '@') {
      kind = c;
      end = wordEnd(text, at + 1);
    } else if (c == '{') {
      kind = '{';
      end = listEnd(text, at);
    }
    if (kind != 'x')
      tokens.push_back({at, end - at, kind});
    at = kind == '{' ? at + 1 : end;
  }
  return tokens;
}

static std::string newNumber(std::mt19937 &random) {
  static const char *const numbers[] = {
      "0",  "1",  "2",   "3",     "4",          "5",
      "6",  "7",  "8",   "12",    "16",         "64",
      "97", "-1", "255", "65536", "2147483648", "9223372036854775807"};
  return numbers[random() % (sizeof(numbers) / sizeof(*numbers))];
}

static std::string mutateToken(const std::string &text, std::mt19937 &random) {
  std::vector<Token> tokens = tokensOf(text);
  if (tokens.empty())
    return text;
  Token target = tokens[random() % tokens.size()];
  std::string replacement;
  if (target.kind == '0' && random() % 2) {
    replacement = newNumber(random);
  } else {
    std::vector<Token> same;
    for (const Token &token : tokens)
      if (token.kind == target.kind)
        same.push_back(token);
    Token source = same[random() % same.size()];
    replacement = text.substr(source.begin, source.length);
  }
  return text.substr(0, target.begin) + replacement +
         text.substr(target.begin + target.length);
}

/// A line copied to, or taken from, a place.
static std::string mutateLine(const std::string &text, std::mt19937 &random) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  size_t from = random() % lines.size(), to = random() % lines.size();
  if (random() % 2) {
    std::string line = lines[from];
    lines.insert(lines.begin() + to, line);
  } else {
    lines.erase(lines.begin() + from);
  }
  std::string result;
  for (const std::string &line : lines)
    result += line + "\n";
  return result;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max, unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, max);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned times = 1 + random() % 3; times > 0; --times)
    text = random() % 8 ? mutateToken(text, random) : mutateLine(text, random);
  size_t length = std::min(text.size(), max);
  std::memcpy(data, text.data(), length);
  return length;
}
