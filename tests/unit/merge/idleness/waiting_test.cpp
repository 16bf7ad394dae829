#include "merge/idleness/waiting.hpp"

#include <catch2/catch.hpp>

namespace waiting_test {

using namespace culprit;
using database::ContextId;
using database::ContextKind;
using measurement::WaitKind;
using merge::Attribution;
using merge::Waiting;

namespace {

/// A tree of contexts below `<program root>` (1) or `<thread root>`, given path by path.
class Tree {
 public:
  explicit Tree(ContextKind root = ContextKind::root) {
    a.strings = {"", "/app", "/lib/libmpi.so.40", "/lib/libgomp.so.1", "/lib/libc.so.6", "/lib/libuser.so"};
    a.contexts.resize(2);
    a.contexts[1].parent = 0;
    a.contexts[1].kind = root;
  }
  ContextId add(ContextId parent, ContextKind kind, const std::string& name = "", std::uint32_t module = 1) {
    a.strings.push_back(name);
    database::Context context;
    context.parent = parent;
    context.kind = kind;
    context.module = module;
    context.name = name.empty() ? 0 : static_cast<database::StringId>(a.strings.size() - 1);
    a.contexts.push_back(context);
    return static_cast<ContextId>(a.contexts.size() - 1);
  }
  /// A procedure called from `parent`, and a statement in it.
  std::pair<ContextId, ContextId> procedure(ContextId parent, const std::string& name,
                                            std::uint32_t module = 2) {
    const ContextId call = parent == 1 ? 1 : add(parent, ContextKind::call);
    const ContextId frame = add(call, ContextKind::procedure, name, module);
    return {frame, add(frame, ContextKind::statement, "", module)};
  }
  std::vector<Waiting> find() { return merge::find_waiting(a, merge::IdleRules::built_in(), {"/app"}); }
  /// What they say of waiting.
  [[nodiscard]] unsigned flags(ContextId x) const {
    return a.contexts[x].flags & ~unsigned{database::kRunTime};
  }
  [[nodiscard]] bool of_run_time(ContextId x) const {
    return (a.contexts[x].flags & database::kRunTime) != 0;
  }

  Attribution a;
};

constexpr unsigned kFrontierFlags = database::kFrontier | database::kInWait;

}  // namespace

TEST_CASE("the outermost waiting frame is the frontier") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [outer, outer_line] = tree.procedure(main, "MPI_Win_fence");
  const auto [inner, inner_line] = tree.procedure(outer, "MPI_Barrier");
  const auto waiting = tree.find();
  CHECK(tree.flags(main) == 0);
  CHECK(tree.flags(main_line) == 0);
  CHECK(waiting[main_line] == Waiting{});
  CHECK(tree.flags(outer) == kFrontierFlags);
  CHECK(tree.a.contexts[outer].wait_kind == static_cast<std::uint8_t>(WaitKind::mpi));
  CHECK(tree.flags(inner) == database::kInWait);
  CHECK(tree.a.contexts[inner].wait_kind == 0);
  CHECK(waiting[outer_line] == Waiting{WaitKind::mpi, true, false});
  CHECK(waiting[inner_line] == Waiting{WaitKind::mpi, true, false});
}

TEST_CASE("a call that does not block waits only in a progress loop or a blocking call") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [send, send_line] = tree.procedure(main, "MPI_Isend");
  const auto [progress, progress_line] = tree.procedure(send, "opal_progress");
  const auto [wait, wait_line] = tree.procedure(send, "MPI_Wait");
  const auto waiting = tree.find();
  CHECK(tree.flags(send) == kFrontierFlags);
  CHECK(waiting[send_line] == Waiting{WaitKind::mpi, false, false});
  CHECK(waiting[progress_line].by_name);
  CHECK(waiting[wait_line].by_name);
  CHECK(tree.flags(progress) == database::kInWait);
  CHECK(tree.flags(wait) == database::kInWait);
  CHECK_FALSE(waiting[progress_line].unmarked);
}

TEST_CASE("a one-sided operation waits in a progress loop, though nobody marks it") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [put, put_line] = tree.procedure(main, "MPI_Put");
  const auto [progress, progress_line] = tree.procedure(put, "opal_progress");
  const auto [moves, moves_line] = tree.procedure(progress, "memcpy");
  const auto waiting = tree.find();
  CHECK(waiting[put_line] == Waiting{WaitKind::mpi, false, true, false});
  CHECK(waiting[progress_line] == Waiting{WaitKind::mpi, true, true, false});
  CHECK(waiting[moves_line].never);
}

TEST_CASE("set-up, moving data and the program's callbacks are work") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [init, init_line] = tree.procedure(main, "MPI_Init");
  const auto [below_init, below_init_line] = tree.procedure(init, "opal_progress");
  const auto [reduce, reduce_line] = tree.procedure(main, "MPI_Reduce");
  const auto [op, op_line] = tree.procedure(reduce, "ompi_op_base_sum");
  const auto [below_op, below_op_line] = tree.procedure(op, "opal_progress");
  const auto [callback, callback_line] = tree.procedure(reduce, "my_operator", 1);
  const auto waiting = tree.find();
  CHECK(waiting[init_line].never);
  CHECK(waiting[below_init_line].never);
  CHECK(tree.flags(init) == kFrontierFlags);
  CHECK(tree.flags(below_init) == database::kInWait);
  CHECK(waiting[reduce_line].by_name);
  CHECK(waiting[op_line] == Waiting{WaitKind::mpi, false, false, true});
  CHECK(waiting[below_op_line] == Waiting{WaitKind::mpi, false, false, true});
  CHECK(waiting[callback_line].never);
  CHECK(tree.flags(op) == (database::kInWait | database::kMoves));
  CHECK(tree.flags(below_op) == (database::kInWait | database::kMoves));
  CHECK(tree.flags(callback) == (database::kInWait | database::kMoves));
}

TEST_CASE("a Python function that MPI calls back is work, whatever file the interpreter is in") {
  Tree tree;
  tree.a.strings.emplace_back(database::kPythonModule);
  const auto python = static_cast<std::uint32_t>(tree.a.strings.size() - 1);
  const auto [main, main_line] = tree.procedure(1, "main.py", python);
  const auto [reduce, reduce_line] = tree.procedure(main, "MPI_Allreduce");
  const auto [interpreter, interpreter_line] = tree.procedure(reduce, "_PyFunction_Vectorcall", 5);
  const auto [operation, operation_line] = tree.procedure(interpreter, "add_slowly", python);
  const auto waiting = tree.find();
  CHECK(waiting[reduce_line].by_name);
  CHECK(waiting[operation_line].never);
  CHECK(tree.flags(operation) == (database::kInWait | database::kMoves));
}

TEST_CASE("a lock is waited for in what the call calls") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [lock, lock_line] = tree.procedure(main, "pthread_mutex_lock");
  const auto [slow, slow_line] = tree.procedure(lock, "libc.so.6@0x1234");
  const auto waiting = tree.find();
  CHECK(waiting[lock_line] == Waiting{WaitKind::lock, false, false});
  CHECK(waiting[slow_line] == Waiting{WaitKind::lock, true, false});
  CHECK(tree.flags(slow) == database::kInWait);
}

/// In OpenMP's run-time library, or in the C library on its behalf, which waits there by name.
Waiting in_library(WaitKind kind) {
  return {.kind = kind, .by_name = true, .in_library = true};
}

TEST_CASE("a stripped OpenMP runtime's own code waits, the code that it calls works") {
  for (const bool main_thread : {true, false}) {
    Tree tree(main_thread ? ContextKind::root : ContextKind::thread_root);
    const auto [runtime, runtime_line] = tree.procedure(1, "libgomp.so.1@0x1d000", 3);
    const auto [region, region_line] = tree.procedure(runtime, "main._omp_fn.0", 1);
    const auto waiting = tree.find();
    const WaitKind kind = main_thread ? WaitKind::omp_barrier : WaitKind::omp_idle;
    CHECK(tree.flags(runtime) == 0);
    CHECK(tree.of_run_time(runtime));
    CHECK(tree.of_run_time(runtime_line));
    CHECK_FALSE(tree.of_run_time(region));
    CHECK(tree.flags(runtime_line) == kFrontierFlags);
    CHECK(tree.a.contexts[runtime_line].wait_kind == static_cast<std::uint8_t>(kind));
    CHECK(waiting[runtime_line] == in_library(kind));
    CHECK(tree.flags(region) == 0);
    CHECK(waiting[region_line] == Waiting{});
  }
}

TEST_CASE("a worker inside an OpenMP region waits at a barrier, outside of all it is idle") {
  Tree tree(ContextKind::thread_root);
  const auto [runtime, runtime_line] = tree.procedure(1, "libgomp.so.1@0x1d000", 3);
  const auto [region, region_line] = tree.procedure(runtime, "main._omp_fn.0", 1);
  const auto [barrier, barrier_line] = tree.procedure(region, "libgomp.so.1@0x1f780", 3);
  const auto waiting = tree.find();
  CHECK(waiting[runtime_line] == in_library(WaitKind::omp_idle));
  CHECK(waiting[region_line] == Waiting{});
  CHECK(waiting[barrier_line] == in_library(WaitKind::omp_barrier));
  CHECK(tree.flags(barrier) == 0);
}

TEST_CASE("the code that starts a thread calls the OpenMP runtime, not the other way round") {
  Tree tree(ContextKind::thread_root);
  const auto [start, start_line] = tree.procedure(1, "start_thread", 4);
  const auto [runtime, runtime_line] = tree.procedure(start, "libgomp.so.1@0x1d000", 3);
  const auto waiting = tree.find();
  CHECK(waiting[runtime_line] == in_library(WaitKind::omp_idle));
}

TEST_CASE("a thread of the program's own waits at the end of its OpenMP regions, and is not without work") {
  Tree tree(ContextKind::thread_root);
  const auto [start, start_line] = tree.procedure(1, "start_thread", 4);
  const auto [routine, routine_line] = tree.procedure(start, "my_thread", 1);
  const auto [runtime, runtime_line] = tree.procedure(routine, "libgomp.so.1@0x1d000", 3);
  const auto waiting = tree.find();
  CHECK(waiting[runtime_line] == in_library(WaitKind::omp_barrier));
}

TEST_CASE("an OpenMP runtime waits in what it calls for that, and works in all else that it calls") {
  Tree tree(ContextKind::thread_root);
  const auto [runtime, runtime_line] = tree.procedure(1, "libgomp.so.1@0x1d000", 3);
  const auto [yield, yield_line] = tree.procedure(runtime, "sched_yield", 4);
  const auto [sleep, sleep_line] = tree.procedure(runtime, "pthread_cond_wait", 4);
  const auto [futex, futex_line] = tree.procedure(sleep, "futex_wait", 4);
  const auto [allocates, allocates_line] = tree.procedure(runtime, "malloc", 4);
  const auto [region, region_line] = tree.procedure(runtime, "main._omp_fn.0", 1);
  const auto [own, own_line] = tree.procedure(region, "pthread_cond_wait", 4);
  const auto waiting = tree.find();
  CHECK(waiting[yield_line] == in_library(WaitKind::omp_idle));
  CHECK(waiting[futex_line] == in_library(WaitKind::omp_idle));
  CHECK(waiting[allocates_line] == Waiting{.in_library = true});
  CHECK(waiting[own_line] == Waiting{WaitKind::condition, true, false});
}

TEST_CASE("tasks that are worked at inside of a wait are work like any other, and may wait themselves") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [wait, wait_line] = tree.procedure(main, "GOMP_taskwait", 3);
  const auto [task, task_line] = tree.procedure(wait, "library._omp_fn.0", 5);
  const auto [lock, lock_line] = tree.procedure(task, "GOMP_critical_start", 3);
  const auto [send, send_line] = tree.procedure(task, "MPI_Send", 2);
  const auto waiting = tree.find();
  CHECK(tree.flags(wait) == 0);
  CHECK(waiting[wait_line] == in_library(WaitKind::omp_barrier));
  CHECK(tree.flags(wait_line) == kFrontierFlags);
  CHECK(tree.flags(task) == 0);
  CHECK(waiting[task_line] == Waiting{});
  CHECK(waiting[lock_line] == in_library(WaitKind::lock));
  CHECK(tree.flags(lock) == kFrontierFlags);
  CHECK(waiting[send_line] == Waiting{WaitKind::mpi, true, false});
}

TEST_CASE("code of an OpenMP runtime that hands out work does not wait") {
  Tree tree;
  const auto [region, region_line] = tree.procedure(1, "main._omp_fn.0", 1);
  const auto [next, next_line] = tree.procedure(region, "GOMP_loop_dynamic_next", 3);
  const auto [inner, inner_line] = tree.procedure(next, "libgomp.so.1@0xe700", 3);
  const auto [task, task_line] = tree.procedure(region, "GOMP_task", 3);
  const auto [body, body_line] = tree.procedure(task, "main._omp_fn.1", 1);
  const auto [barrier, barrier_line] = tree.procedure(body, "libgomp.so.1@0x1f780", 3);
  const auto waiting = tree.find();
  CHECK(waiting[next_line] == Waiting{.in_library = true});
  CHECK(waiting[inner_line] == Waiting{.in_library = true});
  CHECK(waiting[task_line] == Waiting{.in_library = true});
  CHECK(waiting[body_line] == Waiting{});
  CHECK(waiting[barrier_line] == in_library(WaitKind::omp_barrier));
}

TEST_CASE("frames that were left out are never blamed, and waiting below them is seen") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const ContextId gap = tree.add(main, ContextKind::procedure, merge::kLeftOut, 0);
  const auto [bottom, bottom_line] = tree.procedure(gap, "bottom", 1);
  const auto [barrier, barrier_line] = tree.procedure(bottom, "MPI_Barrier");
  const auto waiting = tree.find();
  CHECK(tree.of_run_time(gap));
  CHECK_FALSE(tree.of_run_time(bottom));
  CHECK(waiting[bottom_line] == Waiting{});
  CHECK(tree.flags(barrier) == kFrontierFlags);
  CHECK(waiting[barrier_line] == Waiting{WaitKind::mpi, true, false});
}

TEST_CASE("the C library's calls for files are input and output, with all that they call") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [fread, fread_line] = tree.procedure(main, "_IO_fread", 4);
  const auto [fill, fill_line] = tree.procedure(fread, "_IO_file_underflow", 4);
  const auto [own, own_line] = tree.procedure(main, "read", 1);
  const auto waiting = tree.find();
  CHECK_FALSE(waiting[main_line].io);
  CHECK(waiting[fread_line].io);
  CHECK(waiting[fill_line].io);
  CHECK_FALSE(waiting[own_line].io);  // the program's own
}

TEST_CASE("of MPI's calls those for files are input and output") {
  Tree tree;
  const auto [main, main_line] = tree.procedure(1, "main", 1);
  const auto [write, write_line] = tree.procedure(main, "MPI_File_write_all");
  const auto [exchange, exchange_line] = tree.procedure(write, "MPI_Alltoallv");
  const auto [pwrite, pwrite_line] = tree.procedure(write, "pwrite64", 4);
  const auto [init, init_line] = tree.procedure(main, "MPI_Init");
  const auto [open, open_line] = tree.procedure(init, "open64", 4);
  const auto [wait, wait_line] = tree.procedure(main, "MPI_Wait");
  const auto [read, read_line] = tree.procedure(wait, "__libc_read", 4);
  const auto waiting = tree.find();
  CHECK(waiting[write_line].io);
  CHECK(waiting[exchange_line].io);
  CHECK(waiting[pwrite_line].io);
  CHECK(waiting[pwrite_line].never);
  CHECK_FALSE(waiting[init_line].io);
  CHECK_FALSE(waiting[open_line].io);
  CHECK_FALSE(waiting[wait_line].io);
  CHECK_FALSE(waiting[read_line].io);
}

}  // namespace waiting_test
