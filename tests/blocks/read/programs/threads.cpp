// Messages between threads by acquire and release, which are plain `mov`; a lock; an exception in a thread.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

struct Slot {
    long data[3];
    std::atomic<long> ready{0};
};
static Slot slots[2];
static std::atomic<long> wrong{0};
static std::mutex lock;
static long guarded;
thread_local long mine;

__attribute__((noinline)) static void send(long k) {
    Slot &slot = slots[k & 1];
    while (slot.ready.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    slot.data[0] = k * 3;
    slot.data[1] = k + 1;
    slot.data[2] = -k;
    slot.ready.store(k + 1, std::memory_order_release);
}

__attribute__((noinline)) static long receive(long k) {
    Slot &slot = slots[k & 1];
    while (slot.ready.load(std::memory_order_acquire) != k + 1) std::this_thread::yield();
    long sum = slot.data[0] + slot.data[1] + slot.data[2];
    if (slot.data[0] != k * 3 || slot.data[1] != k + 1 || slot.data[2] != -k) wrong++;
    slot.ready.store(0, std::memory_order_release);
    return sum;
}

int main() {
    const long n = 1000;
    long sum = 0;
    std::thread sender([] { for (long k = 0; k < n; k++) send(k); });
    std::thread receiver([&] { for (long k = 0; k < n; k++) sum += receive(k); });
    sender.join();
    receiver.join();
    std::vector<std::thread> threads;
    std::atomic<int> caught{0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 1000; k++) {
                mine += t;
                try {
                    std::lock_guard<std::mutex> hold(lock);
                    guarded += mine;
                    if (k % 250 == t) throw std::runtime_error("thrown with the lock");
                } catch (const std::exception &) {
                    caught++;
                }
            }
        });
    for (auto &thread : threads) thread.join();
    std::printf("%ld %ld %d %ld\n", sum, wrong.load(), caught.load(), guarded);
    return wrong != 0;
}
