import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** Barriers, single and double; and double ones round after round. */
final class Barriers {
    private Barriers() {}

    static boolean open(Actor actor, String name, String kind, String[] given) {
        String path = given[0];
        switch (kind) {
            case "barrier":
                return actor.keep(name, new Barrier(new DistributedBarrier(actor.client, path)));
            case "double barrier":
                int members = Integer.parseInt(given[1]);
                return actor.keep(
                        name, new DoubleBarrier(new DistributedDoubleBarrier(actor.client, path, members)));
            case "barrier rounds":
                return actor.keep(
                        name, new Rounds(actor.client, path, Integer.parseInt(given[1])));
            default:
                return false;
        }
    }

    private static final class Barrier implements Thing {
        private final DistributedBarrier barrier;

        Barrier(DistributedBarrier barrier) {
            this.barrier = barrier;
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "set barrier":
                    barrier.setBarrier();
                    return null;
                case "remove barrier":
                    barrier.removeBarrier();
                    return null;
                case "wait":
                    return barrier.waitOnBarrier(Long.parseLong(given[0]), TimeUnit.MILLISECONDS);
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    private static final class DoubleBarrier implements Thing {
        private final DistributedDoubleBarrier barrier;

        DoubleBarrier(DistributedDoubleBarrier barrier) {
            this.barrier = barrier;
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "enter":
                    return barrier.enter(Long.parseLong(given[0]), TimeUnit.MILLISECONDS);
                case "leave":
                    return barrier.leave(Long.parseLong(given[0]), TimeUnit.MILLISECONDS);
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    /** To acquire is to enter a barrier of its own for this round: `path/0`, `path/1`, ... */
    private static final class Rounds extends Door {
        private final CuratorFramework client;
        private final String path;
        private final int members;
        private int round = 0;
        private DistributedDoubleBarrier barrier;

        Rounds(CuratorFramework client, String path, int members) {
            this.client = client;
            this.path = path;
            this.members = members;
        }

        @Override
        boolean acquire(long timeoutMs) throws Exception {
            barrier = new DistributedDoubleBarrier(client, path + "/" + round++, members);
            barrier.enter();
            return true;
        }

        @Override
        void release() throws Exception {
            barrier.leave();
        }
    }
}
