/* Compiled without call-frame information, as some assembly and just-in-time compilers leave it: one function
   with a frame pointer, one without, one that saves registers. */

long bare_framed(long n, long (*call)(long));
long bare_frameless(long n, long (*call)(long));
long bare_saving(long n, long (*call)(long));

__attribute__((noinline, optimize("no-omit-frame-pointer"))) long bare_framed(long n, long (*call)(long)) {
  return call(n % 3) + 1;
}

__attribute__((noinline, optimize("omit-frame-pointer"))) long bare_frameless(long n, long (*call)(long)) {
  return call(n % 2) + 2;
}

__attribute__((noinline, optimize("omit-frame-pointer"))) long bare_saving(long n, long (*call)(long)) {
  long a = n, b = n * 3, c = n ^ 5;
  for (int i = 0; i < 2; ++i) {
    a += call(1);
    b ^= a;
    c -= b;
  }
  return a + b + c;
}
