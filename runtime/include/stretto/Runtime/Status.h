//===- Status.h - errors of the runtime -------------------------*- C++ -*-===//
//
// How the runtime reports failure: a code, which is also the exit code of the
// process, and a message in the manner of clang. No exception crosses a library
// border; a function that can fail returns Status or Result<T>.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_STATUS_H
#define STRETTO_RUNTIME_STATUS_H

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace stretto::runtime {

/// The values are the documented exit codes.
enum class Code : int {
  Ok = 0,
  Internal = 1,      ///< a bug of ours
  Usage = 2,         ///< wrong command line
  Rejected = 3,      ///< input (file, Program, data) that is not acceptable
  Infeasible = 4,    ///< nothing feasible was found
  RunFailed = 5,     ///< the run failed or numbers differ
  BudgetReached = 6, ///< stopped by a limit that the user gave
};

/// Success, or a code and a message. Success allocates nothing.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message)
      : error(code == Code::Ok ? nullptr
                               : std::make_shared<const Error>(
                                     Error{code, std::move(message)})) {}

  static Status ok() { return {}; }

  bool isOk() const { return !error; }
  explicit operator bool() const { return isOk(); }
  Code code() const { return error ? error->code : Code::Ok; }
  int exitCode() const { return static_cast<int>(code()); }
  const std::string &message() const {
    static const std::string none;
    return error ? error->message : none;
  }

  /// The same error with "context: " before its message.
  Status within(const std::string &context) const {
    return isOk() ? *this : Status(code(), context + ": " + message());
  }

private:
  struct Error {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Error> error;
};

/// Streams all parts into one string.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream stream;
  (void)(stream << ... << parts);
  return stream.str();
}

/// failure(Code::Rejected, "got ", n, " bytes").
template <typename... Parts> Status failure(Code code, const Parts &...parts) {
  return Status(code, concat(parts...));
}

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Status status) : error(std::move(status)) {
    if (error.isOk())
      error = Status(Code::Internal, "a result without value or error");
  }

  bool isOk() const { return held.has_value(); }
  explicit operator bool() const { return isOk(); }
  const Status &status() const { return error; }
  Code code() const { return error.code(); }
  const std::string &message() const { return error.message(); }

  T &operator*() & { return *held; }
  const T &operator*() const & { return *held; }
  T &&operator*() && { return std::move(*held); }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

private:
  std::optional<T> held;
  Status error;
};

} // namespace stretto::runtime

/// Leaves the function with the error of `expression` (a Status), if any.
#define STRETTO_TRY(expression)                                                \
  do {                                                                         \
    if (::stretto::runtime::Status status_ = (expression); !status_)           \
      return status_;                                                          \
  } while (false)

#define STRETTO_CONCAT_(a, b) a##b
#define STRETTO_CONCAT(a, b) STRETTO_CONCAT_(a, b)
#define STRETTO_ASSIGN_(temporary, target, expression)                         \
  auto temporary = (expression);                                               \
  if (!temporary)                                                              \
    return temporary.status();                                                 \
  target = *std::move(temporary)

/// `target = value of expression` (a Result), or leaves with its error.
#define STRETTO_ASSIGN(target, expression)                                     \
  STRETTO_ASSIGN_(STRETTO_CONCAT(result_, __LINE__), target, expression)

#endif // STRETTO_RUNTIME_STATUS_H
