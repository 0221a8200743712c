#!/usr/bin/env python3
"""Do the tests bite? Runs each deliberate bug (`mutant("...")` in src/) against the test that must
notice it, in a build of the `mutant` preset.

  tests/mutants.py BUILD_DIR [NAME...]    all mutants, or those whose name contains a NAME
  tests/mutants.py --programs             the test programs that it needs, one per line

Each test first has to pass without a mutant. A mutant that its test does not notice has survived:
the exit code is then 1. So it is if the source has a mutant that is missing here.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_MAX_S = 300

# mutant: (test program, filter)
MUTANTS = {
    "kv.no_sync": ("kv_power_cut_test", "PowerCut.whatever_was_acknowledged_survives*"),
    "kv.no_reserve": ("kv_full_map_test", "*FullMap.is_drained_one_by_one*"),
    "kv.no_rollback": ("kv_test", "*a_body_that_fails_leaves_nothing*lmdb*"),
    "migrate.early_gate": (
        "migrate_test", "TraversalGate.no_destination_starts_before_its_source_is_durable"),
    "queue.block_left": (
        "queue_test",
        "*GroupTest.a_group_at_its_limit_lets_others_pass_and_gets_its_slot_back_with_the_ack*"),
    "queue.claim_not_numbered": (
        "queue_test", "*ClaimTest.tokens_increase_with_every_claim_and_over_a_reused_id*"),
    "queue.count_not_moved": ("queue_test", "*AckTest.a_batch_answers_for_each*"),
    "queue.debt_ignored": (
        "queue_test", "*SlotsTest.a_lowered_limit_is_paid_off_by_the_jobs_that_end*"),
    "queue.expiry_left": ("queue_test", "*RemoveTest.a_removed_job_leaves_no_key*"),
    "queue.failure_settles": (
        "queue_test", "*AfterTest.each_ending_means_to_each_policy_what_the_table_says*"),
    "queue.fair_stays": ("queue_test", "*FairTest.groups_take_turns_however_deep_one_is*"),
    "queue.fires_again": (
        "queue_test", "*ScheduleTest.fires_at_its_planned_times_with_the_time_in_the_job*"),
    "queue.fires_the_first_missed": (
        "queue_test", "*ScheduleTest.fires_once_after_a_downtime_for_the_last_time_that_it_missed*"),
    "queue.first_parent_is_enough": (
        "queue_test", "*AfterTest.every_one_of_several_must_be_settled*"),
    "queue.gap_not_noted": (
        "queue_test", "*EventsTrimTest.events_are_trimmed_by_age_and_a_late_reader_learns_it*"),
    "queue.group_limit_plus_one": ("queue_test", "*GroupTest.a_limit_holds_within_one_claim*"),
    "queue.group_slot_lost": ("queue_test", "*GroupTest.every_way_out_of_a_lease_frees_the_slot*"),
    "queue.id_left": ("queue_test", "*AckTest.without_retention_the_job_is_gone_and_its_id_free*"),
    "queue.id_not_checked": (
        "queue_test", "*EnqueueTest.a_batch_that_is_all_or_none_is_refused_for_one_bad_job*"),
    "queue.lapse_late": (
        "queue_test", "*MaintainTest.a_lapsed_job_is_back_at_its_old_place_at_its_deadline*"),
    "queue.lease_deadline_included": ("queue_test", "*LaneVerb*"),
    "queue.lease_left": ("queue_test", "*AckTest.with_retention_the_result_is_kept_until_it_is_over*"),
    "queue.member_left": ("queue_test", "*BatchTest.a_batch_from_its_beginning_to_its_end*"),
    "queue.no_callback": ("queue_test", "*BatchTest.a_batch_from_its_beginning_to_its_end*"),
    "queue.no_check": (
        "queue_test", "*BatchCheckTest.two_last_members_that_finish_at_once_leave_the_end_to_the_agenda*"),
    "queue.offer_left": ("queue_test", "*HoldTest.a_held_job_is_not_claimed_and_comes_back_with_a_new_place*"),
    "queue.one_attempt_more": (
        "queue_test", "*FailTest.waits_longer_each_time_and_dies_after_the_last_attempt*"),
    "queue.operation_forgotten": ("queue_test", "*ReplayTest*"),
    "queue.pause_ignored": (
        "queue_test", "*ClaimTest.a_paused_queue_hands_out_nothing_and_takes_everything_else*"),
    "queue.poison_ignored": (
        "queue_test", "*MaintainTest.a_job_whose_lease_keeps_lapsing_is_poison*"),
    "queue.priority_flipped": (
        "queue_test",
        "*ClaimTest.over_several_queues_the_first_by_priority_then_by_place_is_taken*"),
    "queue.rate_not_charged": (
        "queue_test", "*SlotsTest.the_rate_is_kept_and_says_when_to_come_back*"),
    "queue.release_counts": (
        "queue_test", "*ReleaseTest.puts_the_job_back_where_it_was_and_takes_the_attempt_back*"),
    "queue.release_forgotten": (
        "queue_test", "*AfterManyTest.many_dependants_are_let_go_over_several_transactions_by_sweeps*"),
    "queue.release_to_the_end": (
        "queue_test", "*ReleaseTest.puts_the_job_back_where_it_was_and_takes_the_attempt_back*"),
    "queue.replace_keeps_both": (
        "queue_test", "*UniqueTest.a_replaced_job_that_is_not_kept_is_gone*"),
    "queue.requeue_keeps_attempts": (
        "queue_test", "*RequeueTest.begins_anew_at_the_end_of_its_priority*"),
    "queue.slot_lost": ("queue_test", "*SlotsTest.a_queue_runs_no_more_than_its_limit*"),
    "queue.success_anyway": ("queue_test", "*BatchTest.one_failure_of_many_is_no_success*"),
    "queue.token_not_compared": (
        "queue_test", "*AckTest.an_older_token_does_not_ack_a_newer_claim*"),
    "queue.unique_left": ("queue_test", "*UniqueReturnTest.every_end_gives_the_key_back_at_once*"),
    "queue.unique_not_checked": (
        "queue_test", "*UniqueTest.each_policy_meets_a_holder_in_each_lane*"),
    "queue.waits_left": ("queue_test", "*AfterWaitTest.a_cancelled_job_waits_for_nothing_any_more*"),
    "runtime.dedup_leaked": ("runtime_test", "Dedup.a_key_is_held_once_until_its_scope_ends"),
    "runtime.one_probe_more": ("runtime_test", "Breaker.half_open_lets_exactly_the_probes_through"),
    "runtime.ready_order": (
        "runtime_test", "DelayQueue.lower_values_come_first_and_equal_ones_as_they_came"),
    "runtime.refilled_twice": (
        "runtime_test", "Bucket.is_full_at_first_and_says_when_the_next_token_comes"),
    "runtime.wake_up_dropped": ("runtime_test", "DelayQueueThreads.no_wake_up_is_lost"),
    "worker.no_job_lock": (
        "worker_test",
        "Worker.the_processes_of_a_run_hold_the_lock_of_their_job_and_nobody_else_does"),
    "worker.orphans_stay": (
        "worker_test", "Recovery.orphans_are_ended_before_the_job_is_offered_again"),
    "worker.shared_log": ("worker_test", "Worker.what_outlives_its_run_writes_into_no_other"),
}


def run(build, program, test_filter, mutant=None):
    """Whether the test passed, and why it cannot be told."""
    environment = {**os.environ, "SLUICE_QUICK": "1"}
    environment.pop("SLUICE_LONG", None)
    environment.pop("SLUICE_MUTANT", None)
    if mutant:
        environment["SLUICE_MUTANT"] = mutant
    path = build / "test" / program
    if not path.exists():
        return None, f"{path} does not exist"
    try:
        done = subprocess.run([path, f"--gtest_filter={test_filter}"], env=environment, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIME_MAX_S, check=False)
    except subprocess.TimeoutExpired:
        return False, f"not finished after {TIME_MAX_S} s"
    if not re.search(r"^\[==========\] [1-9]\d* tests? from .* ran\.|^\[ RUN ", done.stdout, re.M):
        return None, f"{program} has no test {test_filter}"
    # What a failing test says first is usually why.
    reason = re.search(r"^.*Failure\n(?:.*\n){0,3}", done.stdout, re.M)
    return done.returncode == 0, " ".join(reason[0].split())[:160] if reason else ""


def judge(build, mutant, baseline):
    """One line about a mutant, and whether it was killed."""
    program, test_filter = MUTANTS[mutant]
    if (program, test_filter) not in baseline:
        baseline[program, test_filter] = run(build, program, test_filter)
    passed, reason = baseline[program, test_filter]
    if not passed:
        return False, f"{mutant}: no verdict, the test does not pass without it ({reason})"
    passed, reason = run(build, program, test_filter, mutant)
    if passed is not False:
        return False, f"{mutant}: survived {program} {test_filter}"
    return True, f"{mutant}: killed by {program} {test_filter} ({reason})"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--programs":
        print("\n".join(sorted({program for program, _ in MUTANTS.values()})))
        return
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [name for name in MUTANTS if not names or any(part in name for part in names)]
    killed = survived = 0
    baseline = {}
    for mutant in chosen:
        dead, line = judge(build, mutant, baseline)
        print(line, flush=True)
        killed += dead
        survived += not dead
    text = "\n".join(path.read_text() for path in sorted(ROOT.glob("src/**/*.cc")))
    for mutant in sorted(set(re.findall(r'\bmutant\("([\w.]+)"\)', text)) - set(MUTANTS)):
        print(f"{mutant}: no test is named for it in tests/mutants.py")
        survived += 1
    print(f"{killed} killed, {survived} survived")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
