#include "stretto/Runtime/StrictJson.h"

#include <set>
#include <vector>

namespace stretto::runtime {

using nlohmann::json;

namespace {

constexpr int deepest = 16;

/// Sees every event of the parser; what it refuses is not kept.
class Guard {
public:
  bool operator()(int depth, json::parse_event_t event, json &value) {
    bool opens = event == json::parse_event_t::object_start ||
                 event == json::parse_event_t::array_start;
    if (opens && depth >= deepest) {
      tooDeep = true;
      return false;
    }
    // Within what was refused, ends come without beginnings.
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end && !open.empty())
      open.pop_back();
    else if (event == json::parse_event_t::key && !open.empty() &&
             !open.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  }

  bool tooDeep = false;
  std::string twice;

private:
  std::vector<std::set<std::string>> open;
};

} // namespace

Result<json> parseStrictJson(Bytes text) {
  Guard guard;
  json parsed = json::parse(text.data, text.data + text.size, std::ref(guard),
                            /*allow_exceptions=*/false);
  if (guard.tooDeep)
    return failure(Code::Rejected, "it is nested deeper than ", deepest);
  if (!guard.twice.empty())
    return failure(Code::Rejected, "key '", guard.twice, "' comes twice");
  if (!parsed.is_object())
    return failure(Code::Rejected, "it is not a JSON object (truncated?)");
  return parsed;
}

} // namespace stretto::runtime
