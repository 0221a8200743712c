// SPDX-License-Identifier: MIT
// verify.
#include "migrate/verify.h"

#include "cli/output.h"
#include "cli/self.h"
#include "cli/size.h"
#include "cli/visible.h"
#include "codec/json.h"
#include "migrate/local_tree.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"

namespace sluice::cli {
namespace {

using migrate::WalkItem;

/// What reading the copied files again told.
struct Contents {
  std::uint64_t files = 0;
  std::vector<std::string> problems = {};
};

/// A damaged ledger can crash whoever reads it, so the reading is done by a process of its own.
Result<int> verify_in_child(const Context& context, const Arguments& arguments) {
  SLUICE_LET(dir, context.state_dir());
  std::vector<std::string> words{"verify", "--here", "--state", dir};
  for (const char* name : {"--json", "--contents"})
    if (arguments.has(name)) words.emplace_back(name);
  SLUICE_LET(run, run_self(std::move(words)));
  if (!run.signal.empty())
    return error(Code::corrupt, "the ledger is damaged: reading it ended with " + run.signal +
                                    "; begin anew with another --state");
  // Its messages came the same way as its report.
  write_all(run.output.starts_with(std::string(program_name()) + ": ") ? 2 : 1, run.output);
  return run.exit_code;
}

void check_file(migrate::Tree& dst, const WalkItem& item, Contents& contents) {
  const migrate::Entry& copied = *item.copied;
  const std::size_t slash = item.path.rfind('/');
  const std::string_view folder = slash == item.path.npos ? "" : item.path.substr(0, slash);
  migrate::Hash hash{};
  const migrate::Fault fault = dst.hash(folder, copied, hash);
  ++contents.files;
  std::string what;
  if (fault.changed)
    what = "is not the file that was copied: its size or time is another";
  else if (!fault.ok())
    what = "cannot be read: " + migrate::errno_name(fault.error);
  else if (hash != *copied.hash)
    what = "has another content than the one that was copied";
  if (!what.empty()) contents.problems.push_back(std::string(item.path) + " " + what);
}

Result<Contents> check_contents(kv::Store& store) {
  SLUICE_LET(settings, settings_of(store));
  SLUICE_LET(dst, migrate::open_local_tree({.root = settings.dst}));
  Contents contents;
  SLUICE_TRY(migrate::walk(store, {}, [&](const WalkItem& item) {
    const bool copied = item.copied != nullptr && item.copied->hash.has_value() &&
                        item.copied->kind == migrate::Kind::file &&
                        item.copy == migrate::CopyStatus::successful;
    if (copied) check_file(*dst, item, contents);
    return true;
  }));
  return contents;
}

void print_json(const migrate::VerifyReport& report, const Contents* contents, bool clean) {
  codec::json::Writer writer;
  writer.object().name("clean").boolean(clean).name("problems").array();
  for (const std::string& problem : report.problems) writer.string(problem);
  if (contents != nullptr)
    for (const std::string& problem : contents->problems) writer.string(problem);
  writer.end_array().name("folders").number(report.folders);
  writer.name("entries").number(report.entries).name("chunks").number(report.chunks);
  if (contents != nullptr) writer.name("files_read").number(contents->files);
  write_all(1, writer.end_object().take() + "\n");
}

void print_text(const migrate::VerifyReport& report, const Contents* contents, bool clean) {
  Output output;
  for (const std::string& problem : report.problems) output.add(visible(problem) + "\n");
  if (contents != nullptr)
    for (const std::string& problem : contents->problems) output.add(visible(problem) + "\n");
  output.add((clean ? "clean: " : "damaged: ") + format_count(report.folders) + " directories, " +
             format_count(report.entries) + " entries, " + plural(report.chunks, "chunk"));
  if (contents != nullptr) output.add(", " + plural(contents->files, "file") + " read");
  output.add("\n");
}

Result<int> verify(Context& context, const Arguments& arguments) {
  if (!arguments.has("--here")) {
    SLUICE_TRY(context.check_there());
    return verify_in_child(context, arguments);
  }
  SLUICE_LET(store, context.open_existing());
  SLUICE_LET(report, migrate::verify(*store));
  Contents contents;
  const bool read = arguments.has("--contents");
  if (read) {
    SLUICE_LET(found, check_contents(*store));
    contents = std::move(found);
  }
  const bool clean = report.problems.empty() && contents.problems.empty();
  (arguments.has("--json") ? print_json : print_text)(report, read ? &contents : nullptr, clean);
  return clean ? 0 : code_info(Code::corrupt).exit_code;
}

}  // namespace

std::vector<Command> verify_commands() {
  return {
      {.name = "verify",
       .alias = "",
       .arguments = "",
       .summary = "proves that the ledger is sound, also while a run is at work",
       .details =
           "Exit code 5 and a line for each breach if it is not. With --contents, files that\n"
           "copy --verify has written are read again and compared with the hashes in the ledger.",
       .options = {state_option(),
                   json_option(),
                   {.name = "--contents",
                    .value = "",
                    .help = "read what was copied with --verify again",
                    .takes = Takes::nothing},
                   {.name = "--here",
                    .value = "",
                    .help = "in this process, not in one of its own",
                    .takes = Takes::nothing}},
       .run = verify},
  };
}

}  // namespace sluice::cli
