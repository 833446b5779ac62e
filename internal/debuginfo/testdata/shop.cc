#include <execinfo.h>
#include <stdio.h>
#include <vector>
#include <algorithm>
#include <string>
namespace shop {
struct Basket {
  std::vector<int> items;
  static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + static_cast<int>(volatile_sum); }
  static volatile int volatile_sum;
  __attribute__((noinline)) int total(int depth);
};
volatile int Basket::volatile_sum = 1;
void *stack[64];
int frames;
static inline __attribute__((always_inline)) int record() {
  frames = backtrace(stack, 64);
  return frames;
}
int Basket::total(int depth) {
  if (depth == 0) return record() + twice(depth);
  int n = total(depth - 1);
  for (int i : items) n += twice(i);
  return n;
}
}
template <typename T> __attribute__((noinline)) T apply(T (*f)(T), T x) { return f(x) + 1; }
static int work(int x) { shop::Basket b; b.items = {1,2,3,x}; std::sort(b.items.begin(), b.items.end()); return b.total(x); }
int main() {
  int r = apply<int>(work, 3);
  FILE *m = fopen("/proc/self/maps", "r");
  char line[4096];
  while (fgets(line, sizeof line, m)) fputs(line, stdout);
  for (int i = 0; i < shop::frames; i++) printf("frame %p\n", shop::stack[i]);
  return r == 0;
}
