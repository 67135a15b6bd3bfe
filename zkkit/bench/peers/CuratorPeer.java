import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Java Curator, driven from outside: see curator.py beside this file, which compiles and runs it.
 *
 * <pre>java CuratorPeer HOSTS SESSION_TIMEOUT_MS PARENT_PID</pre>
 *
 * Commands come in on stdin, one a line, words separated by tabs: an id, an actor, a verb and its
 * arguments. An actor has a client (a session) and a thread of its own, in which its commands are
 * obeyed one after the other; it is there from its first command on. Each command is answered on
 * stdout by one JSON object with its id: {"id": 7, "result": ...} or {"id": 7, "error": "..."}.
 * What an actor has opened may tell something unasked:
 * {"event": "leader", "actor": ..., "name": ..., "at": nanoseconds, "value": ...}.
 *
 * It ends when stdin closes or when its parent is gone, in whatever way.
 */
public final class CuratorPeer {
    private static final long GOODBYE_MS = 3_000;

    static final Map<String, Actor> ACTORS = new ConcurrentHashMap<>();

    private CuratorPeer() {}

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

    static Thread inBackground(String name, Runnable job) {
        Thread thread = new Thread(job, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
