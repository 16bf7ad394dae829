// A library without any call-frame information, built so by CMakeLists.txt: as hand-written assembly, and
// some other compilers, leave it. Its functions keep no frame pointer, and one calls back.

extern "C" double bare_work(double (*step)(double), int count) {
  double sum = 0;
  double other = 1;
  for (int i = 0; i < count; ++i) {
    sum += step(other);
    other = sum * 0.5 + i;
    for (int k = 0; k < 2000; ++k) other = other * 0.999 + 1;
  }
  return sum + other;
}
