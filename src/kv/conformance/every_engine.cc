// SPDX-License-Identifier: MIT
// Runs every test of the suite, in all of this folder's files, on every engine and mode.
#include "kv/conformance/engines.h"

namespace sluice::kv {

INSTANTIATE_TEST_SUITE_P(On, Conformance,
                         testing::Values(EngineKind::memory_serial, EngineKind::memory_optimistic,
                                         EngineKind::lmdb, EngineKind::fault),
                         [](const auto& instance) {
                           return std::string(engine_name(instance.param));
                         });

}  // namespace sluice::kv
