// SPDX-License-Identifier: MIT
// System calls that leave `errno` alone: for a process that shares our memory and our thread's
// variables.
#pragma once

#include <sys/syscall.h>

#include <cstdint>
#include <type_traits>

namespace sluice::exec {

/// What the kernel returns: an error is its number, negated.
[[gnu::always_inline]] inline long raw_syscall_of(long number, long a, long b, long c, long d,
                                                  long e) {
#if defined(__x86_64__)
  long result = number;
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long call asm("x8") = number;
  register long result asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  register long fifth asm("x4") = e;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
               : "memory");
  return result;
#else
#error "write the system call of this processor here"
#endif
}

template <typename Argument>
[[gnu::always_inline]] inline long raw_argument(Argument argument) {
  if constexpr (std::is_null_pointer_v<Argument>)
    return 0;
  else if constexpr (std::is_pointer_v<Argument>)
    return static_cast<long>(reinterpret_cast<std::intptr_t>(argument));
  else
    return static_cast<long>(argument);
}

/// With up to five arguments, numbers or pointers.
template <typename... Arguments>
[[gnu::always_inline]] inline long raw_syscall(long number, Arguments... arguments) {
  static_assert(sizeof...(arguments) <= 5);
  long all[5] = {raw_argument(arguments)...};
  return raw_syscall_of(number, all[0], all[1], all[2], all[3], all[4]);
}

}  // namespace sluice::exec
