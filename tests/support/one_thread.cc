// SPDX-License-Identifier: MIT
// Linked into the test programs whose files are not THREADED in their CMakeLists.txt: a case that
// starts a thread fails, because ThreadSanitizer would never see it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>

#include "base/check.h"

namespace {

std::atomic<int> started{0};

class OneThread : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { started = 0; }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (started == 0) return;
    ADD_FAILURE_AT(test.file(), test.line())
        << started << " threads were started: put this file behind THREADED in the CMakeLists.txt "
        << "of its folder, so that it is run under ThreadSanitizer";
  }
};

const bool installed = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new OneThread);
  return true;
}();

}  // namespace

// What std::jthread calls, too: the one of the C library comes after it.
// tidy: allow thread because this counts the threads and passes each call on
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
  // tidy: allow thread because this is the type of it
  using Create = decltype(&pthread_create);
  static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  SLUICE_CHECK(next != nullptr);
  ++started;
  return next(thread, attributes, body, argument);
}
