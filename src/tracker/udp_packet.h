// SPDX-License-Identifier: MIT
// The packets of trackers over UDP (BEP 15, with the options of BEP 41), in both directions.
//
// Reading never fails loudly: a packet that is not whole, or of no known kind, is nothing, and
// deserves no answer. Packets may be longer than they need to be. What is read may hold views into
// the packet. Nothing allocates, except where a std::string or a std::vector is returned.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker::udp {

inline constexpr std::size_t kConnectRequestBytes = 16;
/// Without options.
inline constexpr std::size_t kAnnounceRequestBytes = 98;
inline constexpr std::size_t kScrapeRequestBytes = 16;  ///< And kHashBytes for every hash.
inline constexpr std::size_t kConnectAnswerBytes = 16;
inline constexpr std::size_t kAnnounceAnswerBytes = 20;  ///< And the peers.
inline constexpr std::size_t kScrapeAnswerBytes = 8;     ///< And kScrapedBytes for every hash.
inline constexpr std::size_t kScrapedBytes = 12;
inline constexpr std::size_t kErrorAnswerBytes = 8;  ///< And the text.
/// Of the hashes of one scrape those beyond are not looked at.
inline constexpr std::size_t kHashesMax = 74;
/// Room for an answer that no common network cuts to pieces, over IPv6 too.
inline constexpr std::size_t kAnswerBytesMax = 1452;
/// Room for any request that is worth reading.
inline constexpr std::size_t kRequestBytesMax = 2048;

using Bytes = std::span<const std::uint8_t>;
using Room = std::span<std::uint8_t>;

/// Of the socket that a packet came through. It decides how long the peers of an answer are.
enum class Family : std::uint8_t { v4, v6 };

struct ConnectRequest {
  std::uint32_t transaction = 0;
};

struct AnnounceRequest {
  std::uint64_t connection = 0;  ///< Not judged yet.
  std::uint32_t transaction = 0;
  /// Its endpoint has the port only, which may be 0: the address is the caller's to fill in.
  Announce announce = {};
  /// The IPv4 address that the packet names, with the port. Whether to believe it is the caller's
  /// to judge; in a packet that came over IPv6 it means nothing.
  std::optional<Endpoint> claimed = {};
  Bytes options = {};  ///< See url_data(). A view.
};

struct ScrapeRequest {
  std::uint64_t connection = 0;  ///< Not judged yet.
  std::uint32_t transaction = 0;
  std::span<const InfoHash> hashes = {};  ///< A view; 1 to kHashesMax.
};

using Request = std::variant<ConnectRequest, AnnounceRequest, ScrapeRequest>;

/// What a client sent. An unknown event is none; a negative number of wanted peers is no number.
std::optional<Request> read_request(Bytes packet);

struct ConnectAnswer {
  std::uint32_t transaction = 0;
  std::uint64_t connection = 0;
};

struct AnnounceAnswer {
  std::uint32_t transaction = 0;
  std::chrono::seconds interval{0};
  Counts counts = {};  ///< Without downloads, which are not told here.
  Family family = Family::v4;
  std::string_view peers = {};  ///< A view; whole entries of a compact list of that family.
};

struct ScrapeAnswer {
  std::uint32_t transaction = 0;
  std::span<const Counts> counts = {};  ///< A view, in the order of the hashes.
};

struct ErrorAnswer {
  std::uint32_t transaction = 0;
  std::string_view text = {};  ///< A view.
};

/// Each writes one answer from the beginning of `room` and says how many bytes it has. Peers and
/// text are cut to what fits: peers to whole ones. What comes before them must fit, as must all of
/// a scrape, which holds at most kHashesMax.
std::size_t write(Room room, const ConnectAnswer& answer);
std::size_t write(Room room, const AnnounceAnswer& answer);
std::size_t write(Room room, const ScrapeAnswer& answer);
std::size_t write(Room room, const ErrorAnswer& answer);

/// The same for requests, of which everything must fit. An announce names its `claimed` address if
/// that is IPv4, not its endpoint's, and says that it wants -1 peers if it wants none in
/// particular.
std::size_t write(Room room, const ConnectRequest& request);
std::size_t write(Room room, const AnnounceRequest& request);
std::size_t write(Room room, const ScrapeRequest& request);

struct ScrapedCounts {
  std::uint32_t transaction = 0;
  std::vector<Counts> counts = {};  ///< At most kHashesMax.
};

using Answer = std::variant<ConnectAnswer, AnnounceAnswer, ScrapedCounts, ErrorAnswer>;

/// What a tracker sent through a socket of that family. That the transaction, the kind and the
/// sender are those of a request is the caller's to check. Half a peer at the end is dropped. An
/// interval below 0 is 0.
std::optional<Answer> read_answer(Bytes packet, Family family);

/// The path and query of the tracker's URL, joined from the pieces in the options of an announce;
/// options of other kinds are passed over. Ends early where an option is cut off.
std::string url_data(Bytes options);

/// Options that say so, in pieces of at most 255 bytes.
std::vector<std::uint8_t> url_options(std::string_view url_data);

}  // namespace sluice::tracker::udp
