/* What the annotated lines of the other programs call: opaque to the compiler, so that the call stays where it is. */
volatile long sunk;
void sink(long value) { sunk += value; }
void sink_a(long value) { sunk -= value; }
void sink_b(long value) { sunk ^= value; }
void sink_c(long value) { sunk *= value; }
void sink_d(long value) { sunk |= value; }
