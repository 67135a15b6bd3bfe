import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Locks and semaphores. */
final class Locks {
    private Locks() {}

    static boolean open(Actor actor, String name, String kind, String[] given) {
        CuratorFramework client = actor.client;
        String path = given[0];
        switch (kind) {
            case "mutex":
                return actor.keep(name, new Mutex(actor, name, new InterProcessMutex(client, path)));
            case "read write": // two doors of one object: else there is no downgrade
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
                actor.keep(name + ".read", new Mutex(actor, name + ".read", both.readLock()));
                actor.keep(name + ".write", new Mutex(actor, name + ".write", both.writeLock()));
                return true;
            case "semaphore":
                int limit = Integer.parseInt(given[1]);
                return actor.keep(
                        name, new Semaphore(new InterProcessSemaphoreV2(client, path, limit)));
            case "counted semaphore":
                Counters.Count count = (Counters.Count) actor.thing(given[1]);
                return actor.keep(name,
                        new Semaphore(new InterProcessSemaphoreV2(client, path, count.count)));
            case "semaphore mutex":
                return actor.keep(name, new Lock(new InterProcessSemaphoreMutex(client, path)));
            case "multi":
                return actor.keep(
                        name, new Lock(new InterProcessMultiLock(client, Arrays.asList(given))));
            default:
                return false;
        }
    }

    private static class Lock extends Door {
        private final InterProcessLock lock;

        Lock(InterProcessLock lock) {
            this.lock = lock;
        }

        @Override
        boolean acquire(long timeoutMs) throws Exception {
            if (timeoutMs == FOR_EVER) {
                lock.acquire();
                return true;
            }
            return lock.acquire(timeoutMs, TimeUnit.MILLISECONDS);
        }

        @Override
        void release() throws Exception {
            lock.release();
        }
    }

    private static final class Mutex extends Lock {
        private final Actor actor;
        private final String name;
        private final InterProcessMutex mutex;

        Mutex(Actor actor, String name, InterProcessMutex mutex) {
            super(mutex);
            this.actor = actor;
            this.name = name;
            this.mutex = mutex;
        }

        @Override
        Collection<String> participants() throws Exception {
            return mutex.getParticipantNodes();
        }

        @Override
        void makeRevocable() {
            mutex.makeRevocable(asked -> actor.tell(name, "revoked", null));
        }
    }

    private static final class Semaphore extends Door {
        private final InterProcessSemaphoreV2 semaphore;
        private final Deque<Lease> leases = new ArrayDeque<>();

        Semaphore(InterProcessSemaphoreV2 semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        boolean acquire(long timeoutMs) throws Exception {
            Lease lease = timeoutMs == FOR_EVER
                    ? semaphore.acquire()
                    : semaphore.acquire(timeoutMs, TimeUnit.MILLISECONDS);
            if (lease == null) {
                return false;
            }
            leases.push(lease);
            return true;
        }

        @Override
        void release() {
            semaphore.returnLease(leases.pop());
        }

        @Override
        Collection<String> participants() throws Exception {
            return semaphore.getParticipantNodes();
        }
    }
}
