// Linked into the libFuzzer binaries. LLVM's allocators poison their slabs in
// code that is instrumented and never in Debian's libraries, which is not; with
// both in one process only the heap's own red zones can be trusted.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
