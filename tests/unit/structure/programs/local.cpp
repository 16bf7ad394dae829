// Procedures that only this file knows, with parameters of many types. Compiled twice: all called, so that
// symbols name them, and all inlined, so that nothing does but debug information.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

extern "C" void sink(const void*);

#ifdef WAY_inlined
#define LOCAL inline __attribute__((always_inline))
#else
#define LOCAL __attribute__((noinline))
#endif

namespace app {
struct Grid {
  double cells[8];
  static double norm(double value) { return value * value; }
};
enum class Side : unsigned char { left, right };
using Index = std::size_t;
}  // namespace app

struct Pair {
  int first, second;
  double get(int) const;
};

static LOCAL void local_none() { sink(nullptr); }
static LOCAL void local_numbers(short a, unsigned short b, unsigned c, long d, unsigned long e, long long f,
                                unsigned long long g, unsigned char h, signed char i, bool j, long double k) {
  const long double sum = a + b + c + d + static_cast<double>(e + g) + static_cast<double>(f) + h + i + j + k;
  sink(&sum);
}
static LOCAL void local_typedefs(std::size_t a, const app::Index b, std::uint8_t* c) { sink(c + a + b); }
static LOCAL void local_pointers(const char* a, char* const b, const char* const* c, volatile int* d, const void* e) {
  sink(a), sink(b), sink(c), sink(const_cast<int*>(d)), sink(e);
}
static LOCAL void local_references(const Pair& a, Pair&& b, app::Grid& c) { sink(&a), sink(&b), sink(&c); }
static LOCAL void local_enum(app::Side side) { sink(&side); }
static LOCAL void local_function(double (*f)(int, const double*), void (&g)(int)) { sink(reinterpret_cast<void*>(f)), g(1); }
static LOCAL void local_arrays(double (&a)[8], int (*b)[4][2], const double c[]) { sink(a), sink(b), sink(c); }
static LOCAL void local_members(int Pair::*a, double (Pair::*b)(int) const) { sink(&a), sink(&b); }
static LOCAL void local_strings(const std::string& a, std::vector<int> b) { sink(a.c_str()), sink(b.data()); }
static LOCAL void local_list(std::initializer_list<double> a) { sink(a.begin()); }
static LOCAL void local_null(decltype(nullptr), char16_t a) { sink(&a); }
namespace {
LOCAL void local_unnamed(app::Grid* a, Pair b) { sink(a), sink(&b); }
namespace within {
LOCAL void local_within(int a) { sink(&a); }
}  // namespace within
}  // namespace

int main(int count, char** words) {
  app::Grid grid{};
  Pair pair{count, 2};
  int table[2][4][2] = {};
  volatile int changing = 0;
  local_none();
  local_numbers(1, 2, 3, 4, 5, 6, 7, 8, 9, true, 1);
  local_typedefs(1, 2, nullptr);
  local_pointers(words[0], words[0], words, &changing, words);
  local_references(pair, Pair{1, 2}, grid);
  local_enum(count > 1 ? app::Side::left : app::Side::right);
  local_function(nullptr, *reinterpret_cast<void (*)(int)>(reinterpret_cast<void (*)()>(&sink)));
  local_arrays(grid.cells, table, grid.cells);
  local_members(&Pair::second, nullptr);
  local_strings(words[0], {1, 2});
  local_list({1.0, 2.0});
  local_null(nullptr, u'a');
  local_unnamed(&grid, pair);
  within::local_within(count);
  sink(&table);
}
