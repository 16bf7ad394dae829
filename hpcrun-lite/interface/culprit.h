/* culprit.h: what a program can say to the sampler that measures it (hpcrun-lite).

   Everything is in this header: include it, link nothing. Where the program runs without the sampler, every
   call returns after two loads and two tests. For C (from C89 on) and C++; Fortran has the module in
   culprit.f90.

     #include <culprit.h>

     culprit_start();                  sample from here on (with hpcrun-lite --delay, or after a stop)
     culprit_region_begin("solve");    samples of this thread lie below a frame "solve" from here on ...
     culprit_iteration(n);             iteration n of the innermost region begins
     culprit_region_end("solve");      ... to here
     culprit_stop();                   no more samples in the whole process

   All calls may be made from any thread, at any time, also from signal handlers (once any of them was made in
   the same source file, since the first one looks the sampler up with dlsym). With a C library older than
   glibc 2.34, dlsym is in a library of its own: link with -ldl. A statically linked program cannot be
   sampled; define CULPRIT_DISABLE there (before the #include, or with -D), which makes every call nothing at
   all. */
#ifndef CULPRIT_H
#define CULPRIT_H

#ifdef __GNUC__
#pragma GCC system_header /* compiles without a word whatever warnings a program asks for */
#endif

#if !defined(CULPRIT_DISABLE) && !(defined(__GNUC__) && defined(__linux__))
#define CULPRIT_DISABLE
#endif

#ifdef CULPRIT_DISABLE

#ifdef __cplusplus
inline void culprit_start() {}
inline void culprit_stop() {}
inline void culprit_region_begin(const char*) {}
inline void culprit_region_end(const char*) {}
inline void culprit_iteration(long) {}
#else
#define culprit_start() ((void)0)
#define culprit_stop() ((void)0)
#define culprit_region_begin(name) ((void)(name))
#define culprit_region_end(name) ((void)(name))
#define culprit_iteration(n) ((void)(n))
#endif

#else

#include <dlfcn.h>

/* What the sampler offers under the name culprit_rt_interface. Later versions append, and raise size: a call
   of what they append asks size first, so that an older sampler still does all else. */
struct culprit_interface {
  unsigned long size; /* of this struct, in bytes */
  void (*start)(void);
  void (*stop)(void);
  /* frame: an address in the stack frame of the function that the region lies in; caller: where that function
     returns to, null if not known */
  void (*region_begin)(const char* name, const void* frame, const void* caller);
  void (*region_end)(const char* name, const void* frame);
  void (*iteration)(long n);
  /* the region lies in the function that called the caller of this */
  void (*region_begin_outside)(const char* name);
  void (*region_end_outside)(const char* name);
};

#define CULPRIT_FIRST_SIZE_ (8 * sizeof(void*)) /* of the members that every sampler has */
#define CULPRIT_UNUSED_ __attribute__((unused))
/* Inlined even where nothing is optimized: the frame to tell about is that of the function that calls. */
#define CULPRIT_CALL_ static __inline__ __attribute__((always_inline, unused))

static const struct culprit_interface* culprit_found_ CULPRIT_UNUSED_;

/* Looks the sampler up; any thread may come first, all find the same. */
static __attribute__((noinline, unused)) const struct culprit_interface* culprit_find_(void) {
  static const struct culprit_interface absent = {0, 0, 0, 0, 0, 0, 0, 0};
  const struct culprit_interface* found =
      (const struct culprit_interface*)dlsym((void*)0 /* RTLD_DEFAULT */, "culprit_rt_interface");
  if (!found || found->size < CULPRIT_FIRST_SIZE_) {
    (void)dlerror(); /* not for the program to find */
    found = &absent;
  }
  __atomic_store_n(&culprit_found_, found, __ATOMIC_RELEASE);
  return found;
}

CULPRIT_CALL_ const struct culprit_interface* culprit_sampler_(void) {
  const struct culprit_interface* found = __atomic_load_n(&culprit_found_, __ATOMIC_ACQUIRE);
  return found ? found : culprit_find_();
}

/* Starts sampling all threads of this process, also those that are created later. Does nothing while sampling
   goes on: calls are not counted, the last one wins. */
CULPRIT_CALL_ void culprit_start(void) {
  const struct culprit_interface* sampler = culprit_sampler_();
  if (sampler->start) sampler->start();
}

/* Stops sampling all threads of this process, until the next culprit_start(); the time between is charged to
   nothing. No timer runs meanwhile. */
CULPRIT_CALL_ void culprit_stop(void) {
  const struct culprit_interface* sampler = culprit_sampler_();
  if (sampler->stop) sampler->stop();
}

/* Begins a region of this thread. In call paths, a frame of this name stands above the function that made
   this call, until the region ends. Of a name, 127 bytes are kept; a process has at most 255 different ones,
   and a thread 64 regions open at once. */
CULPRIT_CALL_ void culprit_region_begin(const char* name) {
  const struct culprit_interface* sampler = culprit_sampler_();
  if (sampler->region_begin)
    sampler->region_begin(name, __builtin_frame_address(0), __builtin_return_address(0));
}

/* Ends this thread's innermost region of this name, and with it those that were begun inside of it and not
   ended (a null name: the innermost, whatever it is called). */
CULPRIT_CALL_ void culprit_region_end(const char* name) {
  const struct culprit_interface* sampler = culprit_sampler_();
  if (sampler->region_end) sampler->region_end(name, __builtin_frame_address(0));
}

/* Marks the beginning of iteration n. A profile counts the marks. */
CULPRIT_CALL_ void culprit_iteration(long n) {
  const struct culprit_interface* sampler = culprit_sampler_();
  if (sampler->iteration) sampler->iteration(n);
}

#endif /* CULPRIT_DISABLE */

#ifdef __cplusplus
namespace culprit {

/* A region as long as a block of code: culprit::region solving("solve"); also ended by exceptions. */
class region {
 public:
#ifndef CULPRIT_DISABLE
  __attribute__((always_inline))
#endif
  explicit region(const char* name)
      : name_(name) {
    culprit_region_begin(name_);
  }
#ifndef CULPRIT_DISABLE
  __attribute__((always_inline))
#endif
  ~region() {
    culprit_region_end(name_);
  }

 private:
  region(const region&);
  region& operator=(const region&);
  const char* name_;
};

} /* namespace culprit */
#endif

#endif /* CULPRIT_H */
