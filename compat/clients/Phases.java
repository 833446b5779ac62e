import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope.LabelsWrapper;

// Spins until it is killed: two seconds of CPU time under a label of Pyroscope's agent, two without one, and so on.
final class Phases {
    public static void main(String[] args) {
        while (true) {
            LabelsWrapper.run(new LabelsSet("phase", "one"), Busy::work);
            Busy.work();
        }
    }
}
