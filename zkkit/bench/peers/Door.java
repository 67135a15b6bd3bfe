import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Something to acquire and to release, again and again, whichever class it is. */
abstract class Door implements Thing {
    static final int FOR_EVER = -1;

    abstract boolean acquire(long timeoutMs) throws Exception;

    abstract void release() throws Exception;

    Collection<String> participants() throws Exception {
        throw new UnsupportedOperationException("this class does not tell its participants");
    }

    void makeRevocable() {
        throw new UnsupportedOperationException("this class is not revocable");
    }

    @Override
    public Object obey(String verb, String[] given) throws Exception {
        switch (verb) {
            case "acquire":
                return acquire(Long.parseLong(given[0]));
            case "release":
                release();
                return null;
            case "participants":
                return participants();
            case "revocable":
                makeRevocable();
                return null;
            case "contend":
                return contend(Long.parseLong(given[0]), Long.parseLong(given[1]),
                        Long.parseLong(given[2]), Long.parseLong(given[3]));
            default:
                throw Thing.unknown(verb);
        }
    }

    /**
     * From `start` on: acquire, hold, release, at most so many rounds, none begun after `until`.
     * Gives four times a round: asked, acquired, began to release, released; in nanoseconds of the
     * machine's monotonic clock.
     */
    private List<Long> contend(long start, long rounds, long until, long holdNs) throws Exception {
        List<Long> times = new ArrayList<>();
        sleepUntil(start);
        for (long round = 0; round < rounds && System.nanoTime() < until; round++) {
            times.add(System.nanoTime());
            acquire(FOR_EVER);
            long acquired = System.nanoTime();
            times.add(acquired);
            sleepUntil(acquired + holdNs);
            times.add(System.nanoTime());
            release();
            times.add(System.nanoTime());
        }
        return times;
    }

    private static void sleepUntil(long when) {
        for (long left; (left = when - System.nanoTime()) > 0; ) {
            LockSupport.parkNanos(left);
        }
    }
}
