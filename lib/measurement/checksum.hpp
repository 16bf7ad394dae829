#pragma once

// XXH64, compiled into the including file: the preloaded runtime must not depend on libxxhash. Of the library
// only the parts that allocate nothing are used.
#define XXH_INLINE_ALL
#define XXH_NO_XXH3
#include <xxhash.h>
