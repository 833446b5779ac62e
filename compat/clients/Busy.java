import java.lang.management.ManagementFactory;

// Spins on two threads, each for two seconds of its own CPU time however busy the machine is, for a profiler that runs with it.
final class Busy {
    static volatile double kept;

    static double spin(int times) {
        double x = 0;
        for (int i = 0; i < times; i++) {
            x += Math.sqrt(x + i);
        }
        return x;
    }

    static void work() {
        var threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + 2_000_000_000L;
        while (threads.getCurrentThreadCpuTime() < end) {
            kept = spin(1_000_000);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(Busy::work, "other");
        other.start();
        work();
        other.join();
    }
}
