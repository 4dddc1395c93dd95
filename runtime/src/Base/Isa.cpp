//===- Isa.cpp - instruction set levels of the host -----------------------===//

#include "stretto/Runtime/Isa.h"

#include <cstdlib>
#include <fstream>
#include <set>

namespace stretto::runtime {

static Isa detect() {
  Isa best = Isa::V1;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    best = Isa::V4;
  else if (__builtin_cpu_supports("x86-64-v3"))
    best = Isa::V3;
#endif
  const char *wanted = std::getenv("STRETTO_ISA");
  std::string name = wanted ? wanted : "";
  if (name == "v1" || (name == "v3" && best == Isa::V1))
    return Isa::V1;
  return name == "v3" ? Isa::V3 : best;
}

Isa hostIsa() {
  static const Isa isa = detect();
  return isa;
}

static bool detectBf16() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return !std::getenv("STRETTO_ISA") && hostIsa() == Isa::V4 &&
         __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool hostHasBf16() {
  static const bool has = detectBf16();
  return has;
}

/// LLVM's feature name as Linux spells it in /proc/cpuinfo.
static std::string kernelName(std::string feature) {
  static const std::pair<const char *, const char *> names[] = {
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"lzcnt", "abm"},
      {"cx16", "cx16"},
      {"sahf", "lahf_lm"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avxvnni", "avx_vnni"},
      {"rdrnd", "rdrand"},
      {"sha", "sha_ni"},
      {"bmi", "bmi1"},
      {"amx-tile", "amx_tile"},
      {"amx-int8", "amx_int8"},
      {"amx-bf16", "amx_bf16"},
      {"prfchw", "3dnowprefetch"}};
  for (auto &[ours, theirs] : names)
    if (feature == ours)
      return theirs;
  return feature;
}

static std::set<std::string> hostFeatures() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, word;
  std::set<std::string> features;
  while (std::getline(info, line))
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      while (words >> word)
        features.insert(word);
      break;
    }
  return features;
}

Status checkCpuFeatures(const std::string &required) {
  std::set<std::string> host = hostFeatures();
  std::istringstream list(required);
  std::string missing, feature;
  while (std::getline(list, feature, ','))
    if (!feature.empty() && !host.count(kernelName(feature)))
      missing += (missing.empty() ? "" : ", ") + feature;
  if (missing.empty())
    return Status::ok();
  return failure(
      Code::Rejected, "this processor lacks ", missing,
      ", for which the kernels were compiled; compile again on this ",
      "machine");
}

} // namespace stretto::runtime
