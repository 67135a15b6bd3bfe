import java.util.Arrays;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicNumber;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.SharedValueListener;
import org.apache.curator.framework.recipes.shared.SharedValueReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** Counters and values. Shared ones tell "value" when they hear a new one. */
final class Counters {
    /** At once, and as often as it takes: a round of theirs is one increment. */
    private static final RetryNTimes AT_ONCE = new RetryNTimes(10_000, 0);

    private Counters() {}

    static boolean open(Actor actor, String name, String kind, String[] given) throws Exception {
        CuratorFramework client = actor.client;
        String path = given[0];
        switch (kind) {
            case "shared count":
                return actor.keep(name, new Count(actor, name, path, Integer.parseInt(given[1])));
            case "shared value":
                return actor.keep(name, new Value(actor, name, path, Json.bytes(given[1])));
            case "atomic long":
                return actor.keep(
                        name, new AtomicLong(new DistributedAtomicLong(client, path, AT_ONCE)));
            case "atomic integer":
                return actor.keep(
                        name, new AtomicInt(new DistributedAtomicInteger(client, path, AT_ONCE)));
            default:
                return false;
        }
    }

    static final class Count implements Thing {
        final SharedCount count;

        Count(Actor actor, String name, String path, int seed) throws Exception {
            count = new SharedCount(actor.client, path, seed);
            count.addListener(new SharedCountListener() {
                @Override
                public void countHasChanged(SharedCountReader reader, int value) {
                    actor.tell(name, "value", value);
                }

                @Override
                public void stateChanged(CuratorFramework client, ConnectionState state) {}
            });
            count.start();
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "value":
                    return count.getCount();
                case "set value":
                    count.setCount(Integer.parseInt(given[0]));
                    return null;
                case "try set value": // against the version that it has heard of
                    return count.trySetCount(
                            count.getVersionedValue(), Integer.parseInt(given[0]));
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    private static final class Value implements Thing {
        private final SharedValue value;

        Value(Actor actor, String name, String path, byte[] seed) throws Exception {
            value = new SharedValue(actor.client, path, seed);
            value.getListenable().addListener(new SharedValueListener() {
                @Override
                public void valueHasChanged(SharedValueReader reader, byte[] bytes) {
                    actor.tell(name, "value", bytes);
                }

                @Override
                public void stateChanged(CuratorFramework client, ConnectionState state) {}
            });
            value.start();
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "value":
                    return value.getValue();
                case "set value":
                    value.setValue(Json.bytes(given[0]));
                    return null;
                case "try set value":
                    return value.trySetValue(value.getVersionedValue(), Json.bytes(given[0]));
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    /** To acquire is to add one; there is nothing to release. */
    private abstract static class Atomic<N> extends Door {
        final DistributedAtomicNumber<N> number;

        Atomic(DistributedAtomicNumber<N> number) {
            this.number = number;
        }

        abstract N read(String text);

        @Override
        boolean acquire(long timeoutMs) throws Exception {
            if (!number.increment().succeeded()) {
                throw new IllegalStateException("the increment did not succeed");
            }
            return true;
        }

        @Override
        void release() {}

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "get":
                    return told(number.get());
                case "add":
                    return told(number.add(read(given[0])));
                case "subtract":
                    return told(number.subtract(read(given[0])));
                case "try set":
                    return told(number.trySet(read(given[0])));
                case "compare and set":
                    return told(number.compareAndSet(read(given[0]), read(given[1])));
                case "force set":
                    number.forceSet(read(given[0]));
                    return null;
                case "initialize":
                    return number.initialize(read(given[0]));
                default:
                    return super.obey(verb, given);
            }
        }

        private static <V> List<Object> told(AtomicValue<V> result) {
            return Arrays.asList(result.succeeded(), result.preValue(), result.postValue());
        }
    }

    private static final class AtomicLong extends Atomic<Long> {
        AtomicLong(DistributedAtomicNumber<Long> number) {
            super(number);
        }

        @Override
        Long read(String text) {
            return Long.valueOf(text);
        }
    }

    private static final class AtomicInt extends Atomic<Integer> {
        AtomicInt(DistributedAtomicNumber<Integer> number) {
            super(number);
        }

        @Override
        Integer read(String text) {
            return Integer.valueOf(text);
        }
    }
}
