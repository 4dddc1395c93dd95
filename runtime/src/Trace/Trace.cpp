//===- Trace.cpp - what ran when ------------------------------------------===//

#include "stretto/Runtime/Trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>

namespace stretto::runtime {

namespace {

/// Collects events of one rank.
class EventWriter {
public:
  EventWriter(int64_t rank, double zero) : rank(rank), zero(zero) {}

  void nameTracks(const std::vector<TraceSpan> &spans) {
    add(R"("name":"process_name","ph":"M","pid":{},"args":{{"name":"rank {}"}})",
        rank, rank);
    std::set<uint32_t> streams;
    for (const TraceSpan &span : spans)
      streams.insert(span.stream);
    for (uint32_t stream : streams)
      add(R"("name":"thread_name","ph":"M","pid":{},"tid":{},)"
          R"("args":{{"name":"stream {}"}})",
          rank, stream, stream);
  }

  /// A slice around all commands of a call on one stream.
  void addCall(const TraceSpan &first, const TraceSpan &last) {
    if (first.segment.empty()) // the end of the function
      return;
    add(R"("name":{},"cat":"call","ph":"X","pid":{},"tid":{},"ts":{:.3f},)"
        R"("dur":{:.3f},"args":{{"segment":{},"step":{},"micro-batch":{}}})",
        quoted(first.instance + " " + first.segment), rank, first.stream,
        microseconds(first.begin), 1e6 * (last.end - first.begin),
        quoted(first.segment), first.step, first.microbatch);
  }

  void addCommand(const TraceSpan &span) {
    add(R"("name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{:.3f},)"
        R"("dur":{:.3f},"args":{{"operation":{},"instance":{},"bytes":{},)"
        R"("flops":{:.0f},"step":{},"micro-batch":{}{}{}}})",
        quoted(span.name.empty() ? span.kind : span.name), quoted(span.kind),
        rank, span.stream, microseconds(span.begin),
        1e6 * (span.end - span.begin), quoted(span.location),
        quoted(span.instance), span.bytes, span.flops, span.step,
        span.microbatch, awaited(span), held(span));
  }

  /// A counter beside the tracks.
  void addAlive(const TraceSpan &span) {
    if (span.alive)
      add(R"("name":"alive","ph":"C","pid":{},"ts":{:.3f},)"
          R"("args":{{"transient bytes":{}}})",
          rank, microseconds(span.end), span.alive);
  }

  std::string text;

private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args &&...args) {
    text += text.empty() ? "{" : ",\n{";
    fmt::format_to(std::back_inserter(text), format,
                   std::forward<Args>(args)...);
    text += "}";
  }
  static std::string awaited(const TraceSpan &span) {
    if (span.waitsFor.empty())
      return "";
    return fmt::format(",\"streams\":[{}]", fmt::join(span.waitsFor, ","));
  }
  static std::string held(const TraceSpan &span) {
    return span.alive ? fmt::format(",\"alive\":{}", span.alive) : "";
  }
  static std::string quoted(const std::string &word) {
    return nlohmann::json(word).dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
  }
  double microseconds(double time) const { return 1e6 * (time - zero); }

  int64_t rank;
  double zero;
};

bool isSameCall(const TraceSpan &a, const TraceSpan &b) {
  return a.step == b.step && a.call == b.call && a.stream == b.stream;
}

} // namespace

std::string traceEvents(int64_t rank, const std::vector<TraceSpan> &spans,
                        double zero) {
  EventWriter writer(rank, zero);
  writer.nameTracks(spans);
  for (auto first = spans.begin(); first != spans.end();) {
    auto end = std::find_if(first, spans.end(), [&](const TraceSpan &span) {
      return !isSameCall(*first, span);
    });
    writer.addCall(*first, *std::prev(end));
    for (; first != end; ++first) {
      writer.addCommand(*first);
      writer.addAlive(*first);
    }
  }
  return writer.text;
}

std::string traceFile(const std::vector<std::string> &events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  bool isFirst = true;
  for (const std::string &rank : events) {
    if (rank.empty())
      continue;
    text += (isFirst ? "" : ",\n") + rank;
    isFirst = false;
  }
  return text + "\n]}\n";
}

double traceClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

} // namespace stretto::runtime
