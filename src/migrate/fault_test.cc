// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>

#include "migrate/tree.h"

namespace sluice::migrate {
namespace {

TEST(Fault, no_fault_is_of_no_class) {
  EXPECT_EQ(fault_class({}), FaultClass::none);
  EXPECT_EQ(fault_class({.error = 0, .detail = "open"}), FaultClass::none);
}

TEST(Fault, what_may_pass_is_transient) {
  for (const int error : {EIO, ETIMEDOUT, ESTALE, ENOMEM, EAGAIN, EINTR, EBUSY, EMFILE, ENFILE,
                          EHOSTUNREACH, ECONNRESET, EREMOTEIO})
    EXPECT_EQ(fault_class({.error = error}), FaultClass::transient) << errno_name(error);
}

TEST(Fault, what_somebody_must_change_is_permanent) {
  for (const int error : {EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL, EISDIR,
                          EROFS, ENOSYS, EOPNOTSUPP, ENODEV, EUCLEAN})
    EXPECT_EQ(fault_class({.error = error}), FaultClass::permanent) << errno_name(error);
}

TEST(Fault, an_error_that_is_not_known_is_permanent) {
  EXPECT_EQ(fault_class({.error = 4711}), FaultClass::permanent);
  EXPECT_EQ(fault_class({.error = -1}), FaultClass::permanent);
}

TEST(Fault, a_directory_that_changed_is_transient_whatever_else_went_wrong) {
  EXPECT_EQ(fault_class({.changed = true}), FaultClass::transient);
  EXPECT_EQ(fault_class({.error = ENOENT, .changed = true}), FaultClass::transient);
}

TEST(Fault, errors_have_their_names) {
  EXPECT_EQ(errno_name(EACCES), "EACCES");
  EXPECT_EQ(errno_name(EIO), "EIO");
  EXPECT_EQ(errno_name(EAGAIN), "EAGAIN");
  EXPECT_EQ(errno_name(EUCLEAN), "EUCLEAN");
}

TEST(Fault, an_error_without_a_name_is_its_number) {
  EXPECT_EQ(errno_name(4711), "errno 4711");
  EXPECT_EQ(errno_name(0), "errno 0");
  EXPECT_EQ(errno_name(-5), "errno -5");
}

}  // namespace
}  // namespace sluice::migrate
