// SPDX-License-Identifier: MIT
// One row of the report in each of its formats. Pure: the same row, the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "migrate/compare.h"
#include "migrate/entry.h"

namespace sluice::migrate {

/// What is reported of one path. A view type. At least one of the entries must be there, and both
/// unless the verdict is `missing`, `extra`, `unknown` or `excluded` (checked).
struct ReportRow {
  std::string_view path;  ///< Relative to the roots; empty for the roots themselves.
  const Entry* src = nullptr;
  const Entry* dst = nullptr;
  Comparison comparison = {};
  std::string_view copy = {};  ///< The copy's status; empty: there is none.
  std::string_view error =
      {};  ///< Why the copy failed, or nothing is known. Empty: as the entries say.
};

/// As `rsync -rlptgoD -ii` prints it: eleven columns, a blank, the path, which ends in '/' if it is
/// a folder's, and " -> TARGET" after a link's; then a line feed. Beyond what rsync prints:
///
///   .f.st...... PATH           newer on the destination, and kept (rsync -u prints nothing)
///   *deleting   PATH           an extra, one line even if it is a folder with something in it;
///                              also the line before a clash's, for what is in the way
///   ?unknown    PATH (REASON)
///   -excluded   PATH
///
/// Bytes that are control characters or not UTF-8 are written as rsync does in a UTF-8 locale:
/// \#ooo in octal, and so is a backslash that would look like one of these.
std::string itemized_line(const ReportRow& row);

/// One JSON object and a line feed:
///
///   {"path":"a/b","kind":"file","verdict":"content","differences":["size","time"],
///    "src":{"kind":"file","size":5,"mtime":"2024-01-01T00:00:00.500000000Z","mode":"0644",
///           "uid":0,"gid":0},
///    "dst":null,"copy":null,"error":null}
///
/// `kind` is the source's, or the destination's where the source has none. An object of a side has
/// `size` only for a file, `target` for a link, `major` and `minor` for a device, `device` and
/// `inode` for a file with several names, `hash` (hexadecimal) for one that was read; and nothing
/// but `kind` and `error` for one of which nothing more is known. A path that is not UTF-8 has
/// U+FFFD for each byte that is not, and stands percent-encoded (but for '/') in `path_bytes`; so
/// do targets, in `target_bytes`.
std::string json_line(const ReportRow& row);

/// The first line of the CSV, with its line feed.
std::string_view csv_header();
/// Its other lines, quoted as RFC 4180 says. Differences are separated by blanks; what is absent is
/// empty. In the path, '%' and every byte that is not UTF-8 are percent-encoded, so that decoding
/// gives back every path.
std::string csv_line(const ReportRow& row);

}  // namespace sluice::migrate
