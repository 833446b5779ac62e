// Spins on two threads for two seconds, for a profiler that runs with it.
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
        long end = System.nanoTime() + 2_000_000_000L;
        while (System.nanoTime() < end) {
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
