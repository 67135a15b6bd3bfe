import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Candidates: LeaderLatch and LeaderSelector. Both tell "leader" and "not leader". */
final class Elections {
    private Elections() {}

    static boolean open(Actor actor, String name, String kind, String[] given) {
        switch (kind) {
            case "latch":
                return actor.keep(name, new Latch(actor, name, given[0], given[1]));
            case "selector":
                boolean again = Boolean.parseBoolean(given[2]);
                return actor.keep(name, new Selector(actor, name, given[0], given[1], again));
            default:
                return false;
        }
    }

    private static List<String> ids(Collection<Participant> participants) {
        List<String> ids = new ArrayList<>();
        for (Participant each : participants) {
            ids.add(each.getId());
        }
        return ids;
    }

    private static final class Latch implements Thing {
        private final LeaderLatch latch;

        Latch(Actor actor, String name, String path, String id) {
            latch = new LeaderLatch(actor.client, path, id);
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {
                    actor.tell(name, "leader", null);
                }

                @Override
                public void notLeader() {
                    actor.tell(name, "not leader", null);
                }
            });
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "start":
                    long began = System.nanoTime();
                    latch.start();
                    return began;
                case "stop":
                    latch.close();
                    return null;
                case "wait":
                    return latch.await(Long.parseLong(given[0]), TimeUnit.MILLISECONDS);
                case "is leader":
                    return latch.hasLeadership();
                case "leader":
                    return latch.getLeader().getId();
                case "participants":
                    return ids(latch.getParticipants());
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    /** Leads until it is told to give up, or interrupted. */
    private static final class Selector extends LeaderSelectorListenerAdapter implements Thing {
        private final Actor actor;
        private final String name;
        private final LeaderSelector selector;
        private final Semaphore enough = new Semaphore(0);

        Selector(Actor actor, String name, String path, String id, boolean again) {
            this.actor = actor;
            this.name = name;
            selector = new LeaderSelector(actor.client, path, this);
            selector.setId(id);
            if (again) {
                selector.autoRequeue();
            }
        }

        /** A selector that requeues by itself tries for ever, without a pause, once its client is closed. */
        @Override
        public void end() {
            try {
                selector.close();
            } catch (IllegalStateException notStarted) {
                // or closed already
            }
        }

        @Override
        public void takeLeadership(CuratorFramework client) throws Exception {
            actor.tell(name, "leader", null);
            try {
                enough.acquire();
            } finally {
                actor.tell(name, "not leader", null);
            }
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "start":
                    long began = System.nanoTime();
                    selector.start();
                    return began;
                case "stop":
                    selector.close();
                    return null;
                case "give up":
                    enough.release();
                    return null;
                case "requeue":
                    return selector.requeue();
                case "interrupt":
                    selector.interruptLeadership();
                    return null;
                case "is leader":
                    return selector.hasLeadership();
                case "leader":
                    return selector.getLeader().getId();
                case "participants":
                    return ids(selector.getParticipants());
                default:
                    throw Thing.unknown(verb);
            }
        }
    }
}
