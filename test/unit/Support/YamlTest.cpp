#include "stretto/Support/YamlReader.h"

#include <gtest/gtest.h>

using namespace stretto;

/// The messages of a text that must not parse.
static std::string errorsOf(const std::string &text) {
  Diagnostics diags;
  EXPECT_TRUE(failed(parseYaml(text, "f.yaml", diags))) << text;
  EXPECT_TRUE(diags.hasErrors());
  return diags.summary();
}

TEST(Yaml, TreeKnowsPositions) {
  Diagnostics diags;
  auto root = parseYaml("a: 1\nb:\n  - x\n  - { c: 'q' }\n", "f.yaml", diags);
  ASSERT_TRUE(succeeded(root)) << diags.summary();
  EXPECT_EQ(root->find("a")->scalar, "1");
  EXPECT_EQ(root->find("a")->location.str(), "f.yaml:1:4");
  const YamlNode &list = *root->find("b");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].location.str(), "f.yaml:3:5");
  EXPECT_EQ(list.items[1].keys[0].location.str(), "f.yaml:4:7");
  EXPECT_TRUE(list.items[1].find("c")->isQuoted);
  EXPECT_EQ(list.items[1].find("c")->scalar, "q");
}

TEST(Yaml, EmptyDocumentIsNull) {
  for (const char *text : {"", "\n", "# only a comment\n"}) {
    Diagnostics diags;
    auto root = parseYaml(text, "f.yaml", diags);
    ASSERT_TRUE(succeeded(root)) << diags.summary();
    EXPECT_EQ(root->kind, YamlNode::Kind::Null);
  }
}

TEST(Yaml, DuplicateKeyPointsAtBoth) {
  EXPECT_EQ(errorsOf("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: error: key 'a' is given twice\n"
            "f.yaml:1:1: note: the first one is here\n");
}

TEST(Yaml, FeaturesThatHideMeaningAreRefused) {
  EXPECT_EQ(errorsOf("a: &x 1\n"),
            "f.yaml:1:7: error: anchors (&name) are not supported; write the "
            "value out\n");
  EXPECT_EQ(errorsOf("a: *x\n"),
            "f.yaml:1:4: error: aliases (*name) are not supported; write the "
            "value out\n");
  EXPECT_NE(errorsOf("a: !!int 1\n").find("tags (!name) are not supported"),
            std::string::npos);
  EXPECT_NE(errorsOf("a: |\n  x\n").find("block text"), std::string::npos);
  EXPECT_NE(errorsOf("? [a]\n: 1\n").find("a key must be a plain word"),
            std::string::npos);
  EXPECT_NE(errorsOf("a: 1\n---\nb: 2\n").find("more than one YAML document"),
            std::string::npos);
}

TEST(Yaml, SyntaxErrorHasPosition) {
  std::string errors = errorsOf("a: 1\nb: [1, 2\n");
  EXPECT_EQ(errors.find("f.yaml:"), 0u) << errors;
  EXPECT_NE(errors.find("error: not valid YAML"), std::string::npos) << errors;
}

TEST(Yaml, DeepNestingIsAnErrorNotACrash) {
  for (size_t depth : {40u, 1000u, 100000u}) {
    EXPECT_NE(errorsOf(std::string(depth, '[')).find("nested deeper than 32"),
              std::string::npos);
    errorsOf(std::string(depth, '{'));
    std::string block;
    for (size_t i = 0; i < std::min<size_t>(depth, 1000); ++i)
      block += std::string(i, ' ') + "a:\n";
    errorsOf(block);
  }
}

TEST(Yaml, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(errorsOf(std::string("a: 1\nb\0: 2\n", 11)),
            "f.yaml:2:2: error: control character 0 in the text\n");
  EXPECT_NE(errorsOf("a: \xff\xfe\n").find("not valid UTF-8"),
            std::string::npos);
  EXPECT_NE(errorsOf(std::string((1 << 20) + 1, 'a')).find("at most 1MiB"),
            std::string::npos);
}

TEST(Yaml, PrintShowsLineAndCaret) {
  Diagnostics diags;
  (void)parseYaml("a: 1\nbb: &x 2\n", "f.yaml", diags);
  std::string text;
  llvm::raw_string_ostream os(text);
  diags.print(os);
  EXPECT_NE(text.find("\nbb: &x 2\n       ^\n"), std::string::npos) << text;
}

TEST(Yaml, ReaderKeepsGoingAndNamesEverything) {
  Diagnostics diags;
  auto root =
      parseYaml("n: x\nm: 5\nwarmpu: 1\nf: nan\ns: [1]\n", "f.yaml", diags);
  ASSERT_TRUE(succeeded(root));
  YamlMap map(*root, "", diags);
  int64_t n = 7, m = 7, warmup = 7;
  double f = 0.5;
  std::string s = "default";
  EXPECT_FALSE(map.integer("n", n, {}));
  EXPECT_FALSE(map.integer("m", m, {1, 4}));
  EXPECT_FALSE(map.integer("warmup", warmup, {0}));
  EXPECT_FALSE(map.number("f", f, {0, 1, false, true}));
  EXPECT_FALSE(map.word("s", s));
  map.finish();
  EXPECT_EQ(
      diags.summary(),
      "f.yaml:1:4: error: 'n' must be an integer, got 'x'\n"
      "f.yaml:2:4: error: 'm' must be an integer from 1 to 4, got '5'\n"
      "f.yaml:4:4: error: 'f' must be a number of at least 0 and less "
      "than 1, got 'nan'\n"
      "f.yaml:5:4: error: 's' must be a word, got a list\n"
      "f.yaml:3:1: error: unknown key 'warmpu'; did you mean 'warmup'?\n");
  EXPECT_EQ(n, 7);
  EXPECT_EQ(s, "default");
}

TEST(Yaml, MissingFileIsAnError) {
  Diagnostics diags;
  EXPECT_TRUE(failed(readTextFile("no/such/file.yaml", diags)));
  EXPECT_EQ(diags.summary(), "no/such/file.yaml: error: cannot read the file: "
                             "No such file or directory\n");
}

TEST(Diagnostics, ManyErrorsAreCutOff) {
  Diagnostics diags;
  for (int i = 0; i < 1000; ++i)
    (void)diags.error({"f", 1, 1}, "bad");
  EXPECT_EQ(diags.errorCount(), 1000u);
  EXPECT_EQ(diags.entries().size(), 21u);
  EXPECT_EQ(diags.entries().back().message,
            "too many errors, the rest is hidden");
}
