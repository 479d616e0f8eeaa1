/* Makes LLVM believe that the machine has 64 cores.

   The reference interpreter runs each process of run_parallel on a thread of a pool that has as many threads as there
   are cores, so a collective among more processes than cores never completes ("rendezvous timed out").
   LLVM counts cores with sched_getaffinity; preloading this library (see shardy.py) gives it another answer. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  (void)pid;
  memset(set, 0, size);
  memset(set, 0xff, size < 8 ? size : 8);
  return 0;
}
