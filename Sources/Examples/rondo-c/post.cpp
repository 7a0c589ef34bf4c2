// The C API from C++: a function object as a context, deleted when it is not needed any more.
//
//   c++ -std=c++11 post.cpp $(pkg-config --cflags --libs rondo) -pthread -o post && ./post
//
// It prints:
//
//   on the loop's thread: yes
//   deleted: 1
//
// No exception may leave a function that the loop calls; this one ends the program if one does.

#include <rondo.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

namespace {

// Calls `work` on the loop's thread, once. What it captures dies there, or here if the loop is gone.
bool post(rondo_loop *loop, std::function<void()> work) {
  std::unique_ptr<std::function<void()>> context(new std::function<void()>(std::move(work)));
  int answer = rondo_loop_post(
    loop, nullptr, 0, [](void *opaque) noexcept { (*static_cast<std::function<void()> *>(opaque))(); }, context.get(),
    [](void *opaque) noexcept { delete static_cast<std::function<void()> *>(opaque); });
  if (answer < 0) return false;
  context.release();
  return true;
}

struct Counted {
  std::atomic<int> *deleted;
  explicit Counted(std::atomic<int> *deleted) : deleted(deleted) {}
  ~Counted() { ++*deleted; }
};

}  // namespace

int main() {
  std::atomic<int> deleted(0);
  rondo_loop *loop;
  if (rondo_loop_current(&loop) < 0) return 1;
  rondo_source *keeper;
  rondo_source_new(&keeper, 0, [](rondo_source *, void *) {}, nullptr, nullptr, nullptr, nullptr);
  rondo_loop_add(loop, keeper, nullptr);

  std::thread worker([loop, &deleted] {
    auto counted = std::make_shared<Counted>(&deleted);
    post(loop, [loop, counted] {
      std::printf("on the loop's thread: %s\n", rondo_loop_is_current(loop) == 1 ? "yes" : "no");
      rondo_loop_stop(loop);
    });
  });
  rondo_loop_run(loop, nullptr, RONDO_FOREVER, 0);
  worker.join();
  std::printf("deleted: %d\n", deleted.load());
  rondo_item_invalidate(keeper);
  rondo_release(keeper);
  return 0;
}
