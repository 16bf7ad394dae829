#include "database/sections.hpp"

#include <algorithm>

namespace culprit::database {

using format::Section;

namespace {

template <class Row>
Bytes encode(const std::vector<Row>& rows) {
  Encoder to;
  to.append(std::as_bytes(std::span(rows)));
  return to.take();
}

template <class Row>
std::vector<Row> decode(ByteSpan bytes) {
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(Row));
  return rows;
}

}  // namespace

void encode_communication(const Communication& communication, SectionBytes& sections) {
  sections[slot(Section::call_traffic)] = encode(communication.calls);
  sections[slot(Section::partner_traffic)] = encode(communication.partners);
}

Communication decode_communication(ByteSpan calls, ByteSpan partners) {
  return {.calls = decode<CallTraffic>(calls), .partners = decode<PartnerTraffic>(partners)};
}

bool is_sound(const Communication& communication, std::size_t locations, std::size_t contexts) {
  const std::vector<PartnerTraffic>& partners = communication.partners;
  return std::ranges::all_of(communication.calls,
                             [=](const CallTraffic& call) {
                               return call.context < contexts && call.busiest < locations &&
                                      call.threads <= locations && call.calls != 0;
                             }) &&
         std::ranges::all_of(partners, [&](const PartnerTraffic& partner) {
           return partner.from >= 0 && partner.to >= 0 && partner.ranks != 0 &&
                  partner.ranks == partners.front().ranks;
         });
}

}  // namespace culprit::database
