#include "structure/short_symbol.hpp"
#include "structure/structure.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace demangle_test {

using culprit::structure::demangle;
using culprit::structure::module_name;

TEST_CASE("modules are named for their files, those of Python without where they were built for") {
  CHECK(module_name("/usr/lib/libm.so.6") == "libm.so.6");
  CHECK(module_name("MPI.cpython-311-x86_64-linux-gnu.so") == "MPI.so");
  CHECK(module_name("/lib/_umath.cpython-311.so") == "_umath.so");
  CHECK(module_name("/tmp/a.cpython-311.txt") == "a.cpython-311.txt");
}

TEST_CASE("C++ names come out as the user wrote them") {
  CHECK(demangle("_ZN9LAMMPS_NS9PairLJCut7computeEii") == "LAMMPS_NS::PairLJCut::compute(int, int)");
  CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi") ==
        "std::vector<int, std::allocator<int> >::push_back(int&&)");
  CHECK(demangle("_ZN3lib12_GLOBAL__N_16Worker3runERNS0_5PlateE") == "lib::Worker::run(lib::Plate&)");
  CHECK(demangle("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
}

TEST_CASE("Rust's older names come out without their hash and in Rust's letters") {
  CHECK(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                 "3bar17h930b740aa94f1d3aE") == "<Test + 'static as foo::Bar<Test>>::bar");
  CHECK(demangle("_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE") ==
        "main::main::{{closure}}");
  CHECK(demangle("_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234567890") == "core::fmt::write");
  CHECK(demangle("_ZN4cost9$u20$each3sumEv") == "cost::$u20$each::sum()");  // of no hash, so not Rust's
}

// What rustc 1.95 made, and what the specification shows.
TEST_CASE("Rust's names of mangling v0 come out as rustc writes them") {
  CHECK(demangle("_RNvC6_123foo3bar") == "123foo::bar");
  CHECK(demangle("_RNvCs6xxl1lAjzDf_1a4main") == "a::main");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a2ccKc27_Kb1_Kxn5_EB2_") == "a::cc::<'\\'', true, -5>");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a2ccKce9_Kb0_Kxn8000000000000000_EB2_") ==
        "a::cc::<'é', false, -9223372036854775808>");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a2ttFG0_RL1_hQL0_SlERL1_hEB2_") ==
        "a::tt::<for<'a, 'b> fn(&'a u8, &'b mut [i32]) -> &'a u8>");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a2ttFUKCPaOuEuEB2_") ==
        "a::tt::<unsafe extern \"C\" fn(*const i8, *mut ())>");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a2ttRDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_"
                 "eEEp6OutputINtNtBw_6option"
                 "6OptionRL0_eEEL_EB2_") ==
        "a::tt::<&dyn for<'a> core::ops::function::Fn<(&'a str,), Output = core::option::Option<&'a str>>>");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a3genNCNvB2_4main0EB2_") == "a::gen::<a::main::{closure#0}>");
  CHECK(demangle("_RNvXCs6xxl1lAjzDf_1aINtB2_1SlKj3_ENtB2_2Tr2goB2_") == "<a::S<i32, 3> as a::Tr>::go");
  CHECK(demangle("_RNvMsi_NtNtNtCslNYArtu3iFV_5alloc11collections5btree3mapINtB5_"
                 "8BTreeMapyNtNtNtCsduwmD7cSIQq_5gimli4"
                 "read6abbrev12AbbreviationE5entryB1e_") ==
        "<alloc::collections::btree::map::BTreeMap<u64, gimli::read::abbrev::Abbreviation>>::entry");
  CHECK(demangle("_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_"
                 "3ops5range14RangeInclusivejEECsfEOYDRpO4Ta_"
                 "11miniz_oxide") == "<[u8]>::copy_within::<core::ops::range::RangeInclusive<usize>>");
  CHECK(demangle("_RNvCs6xxl1lAjzDf_1a4main.cold") == "a::main [cold part]");
  CHECK(demangle("_RNvCs6xxl1lAjzDf_1a4main.llvm.4844761284832175596") == "a::main");
}

TEST_CASE("Rust's names in other scripts, and constants that are no numbers") {
  CHECK(demangle("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y") ==
        "utf8_idents::საჭმელად_გემრიელი_სადილი");
  CHECK(demangle("_RNvNtCs_1cu8gdel_5qa4main") == "c::gödel::main");
  CHECK(demangle("_RMCs4fqI2P2rA04_13const_genericINtB0_3FooKRe616263_E") == "<const_generic::Foo<\"abc\">>");
  CHECK(demangle("_RIC1aKRAh1_h2_h3_EE") == "a::<&[1, 2, 3]>");
  CHECK(demangle("_RIC1aKTj1_b0_EE") == "a::<(1, false)>");
  CHECK(demangle("_RIC1aKVNtC1b1PS1xj1_1yj2_EE") == "a::<b::P { x: 1, y: 2 }>");
  CHECK(demangle("_RIC1aKo123456789abcdef01234_E") == "a::<0x123456789abcdef01234>");
}

TEST_CASE("What is no name of Rust's, or grows without end, stays") {
  for (const std::string name :
       {"_R", "_Rust_function", "_RN", "_RNvC", "_RNvC1a", "_RNvC9a1b", "_R0NvC1a1b", "_RNvC1a1bX", "_RBa_",
        "_RB_", "_RNvB_1a", "_RIC1aKb2_E", "_RIC1aKcd800_E", "_RIC1aL1_E", "_RNvC1au3a_!1b",
        "_RNvC99999999999999999999991a1b", "_RNvCszzzzzzzzzzzzzzzz_1a1b", "_RIC1aKj_"})
    CHECK(demangle(name) == name);
  // Each pair holds the pair before it twice.
  std::string doubling = "_RIC1aTuuE";
  std::size_t last = 4;
  for (int i = 0; i < 60; ++i) {
    std::string place;
    for (std::size_t value = last - 1;; value /= 62) {
      place.insert(place.begin(),
                   "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 62]);
      if (value < 62) break;
    }
    last = doubling.size() - 2;
    doubling += "TB" + place + "_B" + place + "_E";
  }
  doubling += 'E';
  CHECK(demangle(doubling) == doubling);
  const std::string deep = "_RIC1a" + std::string(16000, 'S') + "uE";
  CHECK(demangle(deep) == deep);
}

TEST_CASE("a symbol whose parts refer to each other without end is shown without arguments") {
  // f(A<int, int>, A<A<int, int>, A<int, int>>, ...): each type is twice the one before.
  const auto doubled = [](int times) {
    std::string symbol = "_Z1f1AIiiE";
    for (int i = 0; i < times; ++i) {
      const std::string before =
          i == 0 ? "S0_" : std::string("S") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i] + '_';
      symbol += "S_I" + before + before + 'E';
    }
    return symbol;
  };
  CHECK(demangle(doubled(1)) == "f(A<int, int>, A<A<int, int>, A<int, int> >)");
  CHECK(demangle(doubled(5)).starts_with("f(A<int, int>, A<A<int, int>, A<int, int> >, A<A<A<int, int>"));
  CHECK(demangle(doubled(34)).starts_with("f [shortened "));
  CHECK(demangle(doubled(34)) != demangle(doubled(33)));
  // Packs in packs, and one whose pieces are in order.
  std::string packs = "_Z1fI", expanded = "EvDp1AIT_";
  for (int i = 0; i < 12; ++i) {
    packs += 'J' + std::string(40, 'i') + 'E';
    if (i > 0) expanded += std::string("Dp1AIT") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i - 1] + '_';
  }
  const std::string nested = packs + expanded + std::string(12, 'E');
  CHECK(demangle(nested) == nested);
  CHECK(
      demangle("_ZNSt6vectorIN3lib5PlateESaIS1_EE12emplace_backIJRKS1_iEEERS1_DpOT_") ==
      "lib::Plate& std::vector<lib::Plate, std::allocator<lib::Plate> >::emplace_back<lib::Plate const&, int>"
      "(lib::Plate const&, int&&)");
}

TEST_CASE("a symbol that keeps the demangler busy without a word is shown without arguments") {
  // The pack of an expansion is sought in all that the expansion refers to, each type twice the one before;
  // the class that holds these types is written after its member.
  std::string sought = "_Z1fIJEEvM1CI1AIiiES1_IS2_S2_E", last = "S3_";
  for (const char number : std::string_view("456789ABCDEFGHIJKLMNOPQRSTUVW")) {
    sought += "S1_I" + last + last + 'E';
    last = std::string("S") + number + '_';
  }
  sought += "EDp1BI" + last + "T_E";
  CHECK(demangle(sought).starts_with("f<...> [shortened "));
  // The arguments of each conversion are read twice.
  std::string conversions = "_Z";
  for (int i = 0; i < 100; ++i) conversions += "N1AcvT_I";
  conversions += 'i' + std::string(200, 'E') + 'v';
  CHECK(demangle(conversions).starts_with("A [shortened "));
  CHECK(demangle("_ZN1AcvT_IiEEv") == "A::operator int<int>()");
}

TEST_CASE("a symbol too long to be demangled names its procedure") {
  const auto shortened = [](const std::string& symbol) {
    const std::string name = demangle(symbol);
    const std::size_t end = name.find(" [shortened ");
    REQUIRE(end != std::string::npos);
    return name.substr(0, end);
  };
  std::string types;
  for (int i = 0; i < 3000; ++i) types += "4CellLi7EN4mesh4FaceE";
  const std::string arguments =
      'I' + types + "LN4mesh4KindE2EXadL_Z3getvEEZ4mainEUlvE0_S_St6vectorIiESaIiEA3_dDpT_E";
  CHECK(shortened("_ZN4mesh4Grid" + arguments + "5sweepEv") == "mesh::Grid<...>::sweep");
  CHECK(shortened("_ZNK4mesh12_GLOBAL__N_14Grid" + arguments + "clIiEEvT_") ==
        "mesh::Grid<...>::operator()<...>");
  CHECK(shortened("_ZN4mesh4Grid" + arguments + "C2Ev") == "mesh::Grid<...>::Grid");
  CHECK(shortened("_ZN4Grid" + arguments + "D1Ev") == "Grid<...>::~Grid");
  CHECK(shortened("_ZNSt6vector" + arguments + "7reserveB5cxx11Em") == "std::vector<...>::reserve");
  CHECK(shortened("_ZSt4sort" + arguments + "vT_") == "std::sort<...>");
  CHECK(shortened("_Z4walk" + arguments + "vT_") == "walk<...>");
  CHECK(shortened("_ZN4mesh4Grid" + arguments + "5sweepEv.cold").starts_with("mesh::Grid<...>::sweep"));
  CHECK(shortened("_ZN4mesh4GridI9999999" + types) == "mesh::Grid<...>");
}

TEST_CASE("a long list of parameters of few types is readable") {
  CHECK(demangle(
            "_ZN9LAMMPS_NS8PPPMDisp10poisson_ikEPdS1_S1_PNS_5FFT3dES3_iiiiiiiiiiiiiiiiRdS1_S1_S1_S1_S1_S1_S1_"
            "PPS1_S6_S6_S1_S5_S5_S6_S6_S6_S6_S6_S6_S6_")
            .starts_with("LAMMPS_NS::PPPMDisp::poisson_ik(double*, double*, double*, LAMMPS_NS::FFT3d*, "));
}

TEST_CASE("Fortran module procedures come out with their module") {
  CHECK(demangle("__solver_MOD_iterate") == "solver::iterate");
  CHECK(demangle("solver_mp_iterate_") == "solver::iterate");
  CHECK(demangle("iterate_") == "iterate_");
}

TEST_CASE("parts are readable, copies bear the name of what they copy") {
  CHECK(demangle("solve.part.0") == "solve [part]");
  CHECK(demangle("solve.constprop.2") == "solve");
  CHECK(demangle("solve.isra.0.cold") == "solve [cold part]");
  CHECK(demangle("_Z5solvePd.part.1.constprop.0") == "solve(double*) [part 1]");
  CHECK(demangle("solve._omp_fn.0") == "solve [OpenMP region 0]");
  CHECK(demangle("_Z5solvePd._omp_fn.3") == "solve(double*) [OpenMP region 3]");
  CHECK(demangle("__solver_MOD_iterate._omp_fn.1") == "solver::iterate [OpenMP region 1]");
  CHECK(demangle("main.omp_outlined") == "main [OpenMP region 0]");
  CHECK(demangle(".omp_outlined..3") == "[OpenMP region 3]");
  CHECK(demangle("state.lto_priv.0") == "state");
}

TEST_CASE("what is no mangled name stays") {
  for (const char* name :
       {"", "main", "MPI_Send", "inner.0", "_Z", "_ZN", "__MOD_", "_start", "@plt", "a.b.c", "."})
    CHECK(demangle(name) == name);
  CHECK(demangle("memcpy@@GLIBC_2.14") == "memcpy");
  const std::string endless = "_Z" + std::string(100000, 'P');
  CHECK(demangle(endless) == endless);
}

}  // namespace demangle_test
