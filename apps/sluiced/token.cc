// SPDX-License-Identifier: MIT
// token add, list, revoke, off.
#include "server/tokens.h"

#include <unistd.h>

#include <cstdio>

#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/time.h"
#include "codec/json.h"
#include "sluiced/context.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kRateMax = 1'000'000;
constexpr std::int64_t kBacklogMax = 1'000'000'000'000;

Result<std::string> only_word(const Arguments& arguments, std::string_view usage) {
  if (arguments.words().size() == 1) return arguments.words().front();
  return error(Code::invalid_argument, "name one token: sluiced token " + std::string(usage));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

void print_json(const std::vector<server::AccessToken>& tokens) {
  codec::json::Writer writer;
  writer.array();
  for (const server::AccessToken& token : tokens) {
    writer.object().name("name").string(token.name).name("may").string(server::may_text(token.may));
    writer.name("queues").array();
    for (const std::string& prefix : token.prefixes) writer.string(prefix);
    writer.end_array();
    if (token.rate != 0) writer.name("rate").number(token.rate);
    if (token.backlog_max != 0) writer.name("backlog").number(token.backlog_max);
    writer.name("created_at").string(format_time(token.created)).end_object();
  }
  std::printf("%s\n", writer.end_array().take().c_str());
}

void print_table(const std::vector<server::AccessToken>& tokens) {
  Table table{.columns = {{.title = "NAME", .may_cut = true},
                          {.title = "MAY"},
                          {.title = "QUEUES", .may_cut = true, .priority = 1},
                          {.title = "RATE", .align = Align::right, .priority = 3},
                          {.title = "BACKLOG", .align = Align::right, .priority = 3},
                          {.title = "CREATED", .priority = 2}},
              .rows = {}};
  const auto limit = [](std::uint64_t number) {
    return number == 0 ? std::string("-") : std::to_string(number);
  };
  for (const server::AccessToken& token : tokens)
    table.rows.push_back({{token.name},
                          {server::may_text(token.may)},
                          {token.prefixes.empty() ? "all" : joined(token.prefixes)},
                          {limit(token.rate)},
                          {limit(token.backlog_max)},
                          {format_time(token.created)}});
  const Look look = look_of(inspect(STDOUT_FILENO, ColourMode::automatic, process_environment()));
  std::fputs(render(table, look).c_str(), stdout);
}

Result<int> add(Context& context, const Arguments& arguments) {
  server::AccessToken token;
  SLUICE_LET(name, only_word(arguments, "add NAME --may enqueue,work"));
  SLUICE_LET(rate, arguments.number("--rate", 1, kRateMax));
  SLUICE_LET(backlog, arguments.number("--backlog", 1, kBacklogMax));
  const auto scopes = arguments.text("--may");
  if (!scopes)
    return error(Code::invalid_argument,
                 "say what the token is good for: --may enqueue, --may work, --may enqueue,work or "
                 "--may admin");
  SLUICE_LET(may, server::parse_may(*scopes));
  token.name = std::move(name);
  token.may = may;
  token.prefixes = arguments.all("--queues");
  token.rate = static_cast<std::uint64_t>(rate.value_or(0));
  token.backlog_max = static_cast<std::uint64_t>(backlog.value_or(0));
  SLUICE_TRY(server::check(token));  // A refusal makes no store.
  SLUICE_LET(store, context.open_store());
  SystemRandom random;
  SLUICE_LET(secret, server::add_token(*store, std::move(token), random));
  std::printf("%s\n", secret.c_str());
  if (isatty(STDOUT_FILENO) != 0)
    std::fputs("This is the token. Keep it: it is stored as a hash, and not shown again.\n",
               stderr);
  return 0;
}

Result<int> list(Context& context, const Arguments& arguments) {
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_LET(all, server::read_tokens(*store));
  if (arguments.has("--json")) {
    print_json(all.tokens);
  } else if (!all.tokens.empty()) {
    print_table(all.tokens);
  } else {
    std::puts(all.version.empty() ? "No tokens: requests need none."
                                  : "No tokens are left: nobody is let in. Make one with sluiced "
                                    "token add, or let everybody in with sluiced token off.");
  }
  return 0;
}

Result<int> revoke(Context& context, const Arguments& arguments) {
  SLUICE_LET(name, only_word(arguments, "revoke NAME"));
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_TRY(server::revoke_token(*store, name));
  return 0;
}

Result<int> off(Context& context, const Arguments& /*arguments*/) {
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_TRY(server::forget_tokens(*store));
  return 0;
}

std::vector<Option> add_options() {
  std::vector<Option> options = store_options();
  options.push_back(
      {.name = "--may", .value = "SCOPES", .help = "enqueue, work, admin; with commas"});
  options.push_back({.name = "--queues",
                     .value = "PREFIX",
                     .help = "only queues whose names begin like that; may be repeated",
                     .takes = Takes::text,
                     .repeats = true});
  options.push_back({.name = "--rate", .value = "N", .help = "requests per second"});
  options.push_back({.name = "--backlog", .value = "N", .help = "jobs that wait in its queues"});
  return options;
}

std::vector<Option> list_options() {
  std::vector<Option> options = store_options();
  options.push_back(
      {.name = "--json", .value = "", .help = "as a JSON array", .takes = Takes::nothing});
  return options;
}

}  // namespace

std::vector<Command> token_commands() {
  return {
      {.name = "token add",
       .alias = "",
       .arguments = "NAME",
       .summary = "makes a token, and prints it this once",
       .details =
           "From the first token on, every request needs one: Authorization: Bearer TOKEN. A "
           "running\nsluiced knows it after a second at most, or at once with SIGHUP.\n\n"
           "  enqueue   put jobs in, change them, take them out\n"
           "  work      claim jobs, and say what became of them\n"
           "  admin     everything, also queues and their limits\n\n"
           "  sluiced token add shop --may enqueue --queues shop/ --rate 100\n"
           "  sluiced token add mailer --may work --queues shop/mail --queues news/mail",
       .options = add_options(),
       .takes = Takes::text,
       .run = add},
      {.name = "token list",
       .alias = "",
       .arguments = "",
       .summary = "lists the tokens by name; what they are is not known any more",
       .details = "",
       .options = list_options(),
       .run = list},
      {.name = "token revoke",
       .alias = "",
       .arguments = "NAME",
       .summary = "makes a token worthless",
       .details = "When the last one is gone nobody is let in, until there is another one.",
       .options = store_options(),
       .takes = Takes::text,
       .run = revoke},
      {.name = "token off",
       .alias = "",
       .arguments = "",
       .summary = "forgets all tokens: requests need none any more",
       .details = "",
       .options = store_options(),
       .run = off},
  };
}

}  // namespace sluice::cli
