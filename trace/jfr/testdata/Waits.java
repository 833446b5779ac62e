// Waits waits in each way, for a recording of the states of its threads:
//
//	javac -d /tmp Waits.java && java -cp /tmp -XX:StartFlightRecording=filename=waits.jfr,settings=states.jfc -Xmx64m Waits
//	gzip -9 waits.jfr && python3 want.py waits.jfr.gz > waits.want.tsv
import java.util.concurrent.locks.*;
public class Waits {
  static final Object lock = new Object();
  public static void main(String[] a) throws Exception {
    ReentrantLock l = new ReentrantLock();
    Thread t1 = new Thread(() -> { for (int i=0;i<20;i++){ l.lock(); try { Thread.sleep(30);} catch(Exception e){} finally { l.unlock(); } } }, "sleeper");
    Thread t2 = new Thread(() -> { for (int i=0;i<10;i++){ l.lock(); l.unlock(); LockSupport.parkNanos(25_000_000); } }, "parker/1");
    Thread t3 = new Thread(() -> { for (int i=0;i<10;i++){ synchronized(lock){ try { lock.wait(40);} catch(Exception e){} } } }, "waiter");
    Thread t4 = new Thread(() -> { for (int i=0;i<10;i++){ synchronized(lock){ try { Thread.sleep(25);} catch(Exception e){} } } }, "holder");
    for (Thread t : new Thread[]{t1,t2,t3,t4}) t.start();
    byte[][] keep = new byte[1000][]; for (int i=0;i<200000;i++) keep[i%1000]=new byte[4000];
    System.gc();
    for (Thread t : new Thread[]{t1,t2,t3,t4}) t.join();
  }
}
