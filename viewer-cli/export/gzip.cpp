#include "export/gzip.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <zlib.h>

namespace culprit::viewer {
namespace {

constexpr int kGzip = 16;  // added to the window's size: a gzip header and trailer around the data

}  // namespace

void write_gzip(std::ostream& out, std::string_view bytes) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::array<char, 65536> buffer;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib does not change its input, but older versions do not say so.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(part);
    const bool last = part == bytes.size();
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      state = ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      out.write(buffer.data(), static_cast<std::streamsize>(buffer.size() - stream.avail_out));
    } while (stream.avail_out == 0);
    bytes.remove_prefix(part);
  }
  ::deflateEnd(&stream);
}

}  // namespace culprit::viewer
