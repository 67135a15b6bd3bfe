import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryNTimes;

/**
 * Java Curator, driven from outside: see curator.py beside this file, which compiles and runs it.
 *
 * <pre>java CuratorPeer HOSTS SESSION_TIMEOUT_MS PARENT_PID</pre>
 *
 * Commands come in on stdin, one a line, words separated by tabs: an id, an actor, a verb and its
 * arguments. An actor has a client (a session) and a thread of its own, in which its commands are
 * obeyed one after the other; it is there from its first command on. Each command is answered on
 * stdout by one JSON object with its id: {"id": 7, "result": ...} or {"id": 7, "error": "..."}.
 * Unasked comes {"event": "revoked", "actor": ..., "name": ...}.
 *
 * It ends when stdin closes or when its parent is gone, in whatever way.
 */
public final class CuratorPeer {
    private static final int FOR_EVER = -1;
    private static final long GOODBYE_MS = 3_000;

    private static final Map<String, Actor> ACTORS = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        String hosts = args[0];
        int timeoutMs = Integer.parseInt(args[1]);
        endWith(Long.parseLong(args[2]));
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split("\t", -1);
            // An actor may ask for a session at servers of its own.
            String where = words[2].equals("session") && words.length > 3 ? words[3] : hosts;
            Actor actor =
                    ACTORS.computeIfAbsent(words[1], name -> new Actor(name, where, timeoutMs));
            actor.obey(words[0], words[2], Arrays.copyOfRange(words, 3, words.length));
        }
        end();
    }

    /** Give the sessions back, but do not wait long for servers that do not answer. */
    private static void end() throws InterruptedException {
        List<Thread> goodbyes = new ArrayList<>();
        for (Actor actor : ACTORS.values()) {
            goodbyes.add(inBackground("goodbye", actor::close));
        }
        long deadline = System.currentTimeMillis() + GOODBYE_MS;
        for (Thread goodbye : goodbyes) {
            goodbye.join(Math.max(1, deadline - System.currentTimeMillis()));
        }
        Runtime.getRuntime().halt(0);
    }

    /** A forked child of the parent could keep our stdin open after the parent's death. */
    private static void endWith(long parent) {
        inBackground("parent", () -> {
            while (parent() == parent) {
                LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
            }
            Runtime.getRuntime().halt(1);
        });
    }

    private static long parent() {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(0L);
    }

    private static Thread inBackground(String name, Runnable job) {
        Thread thread = new Thread(job, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Something to acquire, whichever class it is. */
    private abstract static class Door {
        abstract boolean acquire(long timeoutMs) throws Exception;

        abstract void release() throws Exception;

        Collection<String> participants() throws Exception {
            throw new UnsupportedOperationException("this class does not tell its participants");
        }

        void makeRevocable(Runnable listener) {
            throw new UnsupportedOperationException("this class is not revocable");
        }
    }

    private static class LockDoor extends Door {
        private final InterProcessLock lock;

        LockDoor(InterProcessLock lock) {
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

    private static final class MutexDoor extends LockDoor {
        private final InterProcessMutex mutex;

        MutexDoor(InterProcessMutex mutex) {
            super(mutex);
            this.mutex = mutex;
        }

        @Override
        Collection<String> participants() throws Exception {
            return mutex.getParticipantNodes();
        }

        @Override
        void makeRevocable(Runnable listener) {
            mutex.makeRevocable(asked -> listener.run());
        }
    }

    private static final class LeaseDoor extends Door {
        private final InterProcessSemaphoreV2 semaphore;
        private final Deque<Lease> leases = new ArrayDeque<>();

        LeaseDoor(InterProcessSemaphoreV2 semaphore) {
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

    /** One client, one thread, and what was opened by it. */
    private static final class Actor {
        private final String name;
        private final int timeoutMs;
        private final CuratorFramework client;
        private final ExecutorService commands;
        private volatile Thread thread;
        private final Map<String, Door> doors = new HashMap<>();
        private final Map<String, SharedCount> counts = new HashMap<>();

        Actor(String name, String hosts, int timeoutMs) {
            this.name = name;
            this.timeoutMs = timeoutMs;
            client = CuratorFrameworkFactory.builder()
                    .connectString(hosts)
                    .sessionTimeoutMs(timeoutMs)
                    .connectionTimeoutMs(timeoutMs)
                    .retryPolicy(new RetryNTimes(10, 200))
                    // What its lock nodes hold: the other side can tell whose they are.
                    .defaultData(name.getBytes(StandardCharsets.UTF_8))
                    // It would follow the addresses that servers have among themselves.
                    .ensembleTracker(false)
                    .build();
            client.start();
            commands = Executors.newSingleThreadExecutor(job -> {
                thread = new Thread(job, name);
                thread.setDaemon(true);
                return thread;
            });
        }

        void obey(String id, String verb, String[] given) {
            if (verb.equals("close")) { // at once, whatever it is doing
                ACTORS.remove(name);
                inBackground("close", () -> {
                    close();
                    say("{\"id\": " + id + ", \"result\": null}");
                });
                return;
            }
            commands.execute(() -> {
                try {
                    say("{\"id\": " + id + ", \"result\": " + json(result(verb, given)) + "}");
                } catch (Throwable error) {
                    say("{\"id\": " + id + ", \"error\": " + json(error.toString()) + "}");
                }
            });
        }

        private Object result(String verb, String[] given) throws Exception {
            switch (verb) {
                case "session":
                    if (!client.blockUntilConnected(timeoutMs, TimeUnit.MILLISECONDS)) {
                        throw new IllegalStateException("no server answers");
                    }
                    return client.getZookeeperClient().getZooKeeper().getSessionId();
                case "open":
                    open(given[0], given[1], Arrays.copyOfRange(given, 2, given.length));
                    return null;
                case "acquire":
                    return doors.get(given[0]).acquire(Long.parseLong(given[1]));
                case "release":
                    doors.get(given[0]).release();
                    return null;
                case "participants":
                    return doors.get(given[0]).participants();
                case "contend":
                    return contend(doors.get(given[0]), Long.parseLong(given[1]),
                            Long.parseLong(given[2]), Long.parseLong(given[3]),
                            Long.parseLong(given[4]));
                case "revocable":
                    doors.get(given[0]).makeRevocable(() -> say("{\"event\": \"revoked\", \"actor\": "
                            + json(name) + ", \"name\": " + json(given[0]) + "}"));
                    return null;
                case "revoke":
                    Revoker.attemptRevoke(client, given[0]);
                    return null;
                case "count":
                    return count(given[0]).getCount();
                case "set count":
                    count(given[0]).setCount(Integer.parseInt(given[1]));
                    return null;
                case "data":
                    return new String(client.getData().forPath(given[0]), StandardCharsets.UTF_8);
                case "clock":
                    return System.nanoTime();
                default:
                    throw new IllegalArgumentException("no such verb: " + verb);
            }
        }

        private void open(String name, String kind, String[] given) throws Exception {
            String path = given[0];
            switch (kind) {
                case "mutex":
                    doors.put(name, new MutexDoor(new InterProcessMutex(client, path)));
                    break;
                case "read write": // two doors of one object: else there is no downgrade
                    InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
                    doors.put(name + ".read", new MutexDoor(both.readLock()));
                    doors.put(name + ".write", new MutexDoor(both.writeLock()));
                    break;
                case "semaphore":
                    int limit = Integer.parseInt(given[1]);
                    doors.put(name, new LeaseDoor(new InterProcessSemaphoreV2(client, path, limit)));
                    break;
                case "counted semaphore":
                    SharedCount count = count(given[1]);
                    doors.put(name, new LeaseDoor(new InterProcessSemaphoreV2(client, path, count)));
                    break;
                case "semaphore mutex":
                    doors.put(name, new LockDoor(new InterProcessSemaphoreMutex(client, path)));
                    break;
                case "multi":
                    List<String> paths = Arrays.asList(given);
                    doors.put(name, new LockDoor(new InterProcessMultiLock(client, paths)));
                    break;
                default:
                    throw new IllegalArgumentException("no such kind: " + kind);
            }
        }

        private SharedCount count(String path) throws Exception {
            SharedCount count = counts.get(path);
            if (count == null) {
                count = new SharedCount(client, path, 0);
                count.start();
                counts.put(path, count);
            }
            return count;
        }

        /**
         * From `start` on: acquire, hold, release, at most so many rounds, none begun after
         * `until`. Gives four times a round: asked, acquired, began to release, released; in
         * nanoseconds of the machine's monotonic clock.
         */
        private List<Long> contend(Door door, long start, long rounds, long until, long holdNs)
                throws Exception {
            List<Long> times = new ArrayList<>();
            sleepUntil(start);
            for (long round = 0; round < rounds && System.nanoTime() < until; round++) {
                times.add(System.nanoTime());
                door.acquire(FOR_EVER);
                long acquired = System.nanoTime();
                times.add(acquired);
                sleepUntil(acquired + holdNs);
                times.add(System.nanoTime());
                door.release();
                times.add(System.nanoTime());
            }
            return times;
        }

        /** Its commands still get an answer: that the client is closed. */
        void close() {
            client.close();
            if (thread != null) {
                thread.interrupt(); // it may be waiting for a lock
            }
            commands.shutdown();
        }
    }

    private static void sleepUntil(long when) {
        for (long left; (left = when - System.nanoTime()) > 0; ) {
            LockSupport.parkNanos(left);
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String json(Object value) {
        if (value instanceof Collection) {
            StringBuilder text = new StringBuilder("[");
            for (Object each : (Collection<?>) value) {
                text.append(text.length() > 1 ? ", " : "").append(json(each));
            }
            return text.append("]").toString();
        }
        if (!(value instanceof String)) {
            return String.valueOf(value); // null, true, 17
        }
        StringBuilder text = new StringBuilder("\"");
        for (char c : ((String) value).toCharArray()) {
            boolean plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
            text.append(plain ? String.valueOf(c) : String.format("\\u%04x", (int) c));
        }
        return text.append("\"").toString();
    }
}
