// The one translation unit that instantiates Catch2's main (v2 compiles slowly; every unit test links this).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
