//===- Exposed.cpp - communication that computation waited for ------------===//

#include "stretto/Runtime/Exposed.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stretto::runtime {

namespace {

class Accountant {
public:
  explicit Accountant(const std::vector<TraceSpan> &spans) {
    for (const TraceSpan &span : spans) {
      if (span.stream >= streams.size())
        streams.resize(span.stream + 1);
      streams[span.stream].push_back(&span);
    }
  }

  Communication run() {
    for (const auto &stream : streams)
      for (const TraceSpan *span : stream)
        visit(*span);
    for (auto &[key, row] : rows)
      result.rows.push_back(std::move(row));
    std::stable_sort(result.rows.begin(), result.rows.end(),
                     [](const CommunicationRow &a, const CommunicationRow &b) {
                       return std::tie(a.exposedSeconds, a.seconds) >
                              std::tie(b.exposedSeconds, b.seconds);
                     });
    return std::move(result);
  }

private:
  static bool isCollective(const TraceSpan &span) {
    return span.kind == "collective";
  }

  void visit(const TraceSpan &span) {
    if (isCollective(span)) {
      CommunicationRow &row = rowOf(span);
      row.count += 1;
      row.bytes += span.bytes;
      row.seconds += span.end - span.begin;
      result.seconds += span.end - span.begin;
      if (span.stream == 0)
        expose(&span, span.end - span.begin);
    } else if (span.kind == "wait" && span.stream == 0) {
      blame(span);
    }
  }

  CommunicationRow &rowOf(const TraceSpan &span) {
    std::string name = span.name.substr(0, span.name.find(':'));
    CommunicationRow &row = rows[{span.segment, name, span.cause}];
    row.name = name;
    row.segment = span.segment;
    row.cause = span.cause;
    return row;
  }
  void expose(const TraceSpan *span, double seconds) {
    if (!span) {
      result.otherWaitSeconds += seconds;
      return;
    }
    rowOf(*span).exposedSeconds += seconds;
    result.exposedSeconds += seconds;
  }

  /// Cuts the wait where another stream begins or ends something.
  void blame(const TraceSpan &wait) {
    std::vector<double> times = {wait.begin, wait.end};
    for (size_t stream = 1; stream < streams.size(); ++stream)
      for (auto span = firstEndingAfter(stream, wait.begin);
           span != streams[stream].end() && (*span)->begin < wait.end; ++span)
        for (double time : {(*span)->begin, (*span)->end})
          if (wait.begin < time && time < wait.end)
            times.push_back(time);
    std::sort(times.begin(), times.end());
    for (size_t i = 1; i < times.size(); ++i)
      expose(culprit(wait, (times[i - 1] + times[i]) / 2, streams.size()),
             times[i] - times[i - 1]);
  }

  std::vector<const TraceSpan *>::const_iterator
  firstEndingAfter(size_t stream, double time) const {
    return std::partition_point(
        streams[stream].begin(), streams[stream].end(),
        [&](const TraceSpan *span) { return span->end <= time; });
  }

  /// The collective that holds up `wait` at `time`, or null.
  const TraceSpan *culprit(const TraceSpan &wait, double time,
                           size_t depth) const {
    for (uint32_t stream : wait.waitsFor) {
      if (depth == 0 || stream >= streams.size())
        continue;
      auto span = firstEndingAfter(stream, time);
      if (span == streams[stream].end() || (*span)->begin > time)
        continue;
      if (isCollective(**span))
        return *span;
      if (const TraceSpan *other = culprit(**span, time, depth - 1))
        return other;
    }
    return nullptr;
  }

  std::vector<std::vector<const TraceSpan *>> streams;
  std::map<std::tuple<std::string, std::string, std::string>, CommunicationRow>
      rows; // by segment, name, cause
  Communication result;
};

} // namespace

Communication communicationOf(const std::vector<TraceSpan> &spans) {
  return Accountant(spans).run();
}

} // namespace stretto::runtime
