/* Makes Caliper begin in a program without annotations, in which nobody calls it: preloaded after
 * libcaliper.so. */
void cali_init(void);

__attribute__((constructor)) static void begin(void) {
  cali_init();
}
