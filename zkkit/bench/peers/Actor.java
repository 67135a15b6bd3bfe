import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryNTimes;

/** One client, one thread, and what was opened by it. */
final class Actor {
    final CuratorFramework client;
    private final String name;
    private final int timeoutMs;
    private final ExecutorService commands;
    private volatile Thread thread;
    private final Map<String, Thing> things = new ConcurrentHashMap<>();

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
            CuratorPeer.ACTORS.remove(name);
            CuratorPeer.inBackground("close", () -> {
                close();
                CuratorPeer.say("{\"id\": " + id + ", \"result\": null}");
            });
            return;
        }
        commands.execute(() -> {
            String answer;
            try {
                answer = "\"result\": " + Json.of(result(verb, given));
            } catch (Throwable error) {
                answer = "\"error\": " + Json.of(error.toString());
            }
            CuratorPeer.say("{\"id\": " + id + ", " + answer + "}");
        });
    }

    private Object result(String verb, String[] given) throws Exception {
        switch (verb) {
            case "session":
                if (!client.blockUntilConnected(timeoutMs, TimeUnit.MILLISECONDS)) {
                    throw new IllegalStateException("no server answers");
                }
                return client.getZookeeperClient().getZooKeeper().getSessionId();
            case "password":
                return client.getZookeeperClient().getZooKeeper().getSessionPasswd();
            case "open":
                if (!things.containsKey(given[0])) {
                    open(given[0], given[1], Arrays.copyOfRange(given, 2, given.length));
                }
                return null;
            case "revoke":
                Revoker.attemptRevoke(client, given[0]);
                return null;
            case "data":
                return new String(client.getData().forPath(given[0]), StandardCharsets.UTF_8);
            case "create":
                client.create().creatingParentsIfNeeded().forPath(given[0], Json.bytes(given[1]));
                return null;
            case "set":
                client.setData().forPath(given[0], Json.bytes(given[1]));
                return null;
            case "delete":
                client.delete().forPath(given[0]);
                return null;
            case "clock":
                return System.nanoTime();
            default:
                return thing(given[0]).obey(verb, Arrays.copyOfRange(given, 1, given.length));
        }
    }

    private void open(String name, String kind, String[] given) throws Exception {
        boolean opened = Locks.open(this, name, kind, given)
                || Elections.open(this, name, kind, given)
                || Barriers.open(this, name, kind, given)
                || Counters.open(this, name, kind, given)
                || Caches.open(this, name, kind, given);
        if (!opened) {
            throw new IllegalArgumentException("no such kind: " + kind);
        }
    }

    /** Always true: it was of a kind that its family knows. */
    boolean keep(String name, Thing thing) {
        things.put(name, thing);
        return true;
    }

    Thing thing(String name) {
        Thing thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("nothing is open by the name " + name);
        }
        return thing;
    }

    /** Say what nobody asked for. */
    void tell(String thing, String event, Object value) {
        CuratorPeer.say("{\"event\": " + Json.of(event) + ", \"actor\": " + Json.of(name)
                + ", \"name\": " + Json.of(thing) + ", \"at\": " + System.nanoTime()
                + ", \"value\": " + Json.of(value) + "}");
    }

    /** Its commands still get an answer: that the client is closed. */
    void close() {
        client.close();
        things.values().forEach(Thing::end);
        if (thread != null) {
            thread.interrupt(); // it may be waiting for a lock
        }
        commands.shutdown();
    }
}
