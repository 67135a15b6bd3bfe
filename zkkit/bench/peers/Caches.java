import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;

/**
 * CuratorCache and PathChildrenCache. They tell "created", "changed" and "deleted" with the path and
 * the data, and "initialized".
 */
final class Caches {
    private Caches() {}

    static boolean open(Actor actor, String name, String kind, String[] given) {
        switch (kind) {
            case "cache":
                return actor.keep(name, new Tree(actor, name, given[0], false));
            case "counting cache":
                return actor.keep(name, new Tree(actor, name, given[0], true));
            case "children cache":
                return actor.keep(name, new Children(actor, name, given[0]));
            default:
                return false;
        }
    }

    private static List<Object> node(ChildData node) {
        return Arrays.asList(node.getPath(), node.getData());
    }

    /** All nodes with their data, by path. */
    private static List<Object> content(Iterable<ChildData> nodes) {
        TreeMap<String, Object> found = new TreeMap<>();
        for (ChildData each : nodes) {
            found.put(each.getPath(), node(each));
        }
        return new ArrayList<>(found.values());
    }

    private static final class Tree implements Thing {
        private final CuratorCache cache;

        /** If it counts, it tells no node that was created, but how many when it is initialized. */
        Tree(Actor actor, String name, String path, boolean counts) {
            AtomicInteger created = new AtomicInteger();
            cache = CuratorCache.build(actor.client, path);
            cache.listenable().addListener(CuratorCacheListener.builder()
                    .forCreates(node -> {
                        created.incrementAndGet();
                        if (!counts) {
                            actor.tell(name, "created", node(node));
                        }
                    })
                    .forChanges((old, node) -> actor.tell(name, "changed", node(node)))
                    .forDeletes(node -> actor.tell(name, "deleted", node(node)))
                    .forInitialized(() -> actor.tell(name, "initialized", created.get()))
                    .build());
        }

        @Override
        public Object obey(String verb, String[] given) {
            switch (verb) {
                case "start":
                    long began = System.nanoTime();
                    cache.start();
                    return began;
                case "stop":
                    cache.close();
                    return null;
                case "content":
                    List<ChildData> nodes = new ArrayList<>();
                    cache.stream().forEach(nodes::add);
                    return content(nodes);
                default:
                    throw Thing.unknown(verb);
            }
        }
    }

    @SuppressWarnings("deprecation")
    private static final class Children implements Thing {
        private final PathChildrenCache cache;

        Children(Actor actor, String name, String path) {
            cache = new PathChildrenCache(actor.client, path, true);
            cache.getListenable().addListener((client, event) -> {
                switch (event.getType()) {
                    case CHILD_ADDED:
                        actor.tell(name, "created", node(event.getData()));
                        break;
                    case CHILD_UPDATED:
                        actor.tell(name, "changed", node(event.getData()));
                        break;
                    case CHILD_REMOVED:
                        actor.tell(name, "deleted", node(event.getData()));
                        break;
                    case INITIALIZED:
                        actor.tell(name, "initialized", event.getInitialData().size());
                        break;
                    default: // of the connection
                }
            });
        }

        @Override
        public Object obey(String verb, String[] given) throws Exception {
            switch (verb) {
                case "start":
                    long began = System.nanoTime();
                    cache.start(PathChildrenCache.StartMode.POST_INITIALIZED_EVENT);
                    return began;
                case "stop":
                    cache.close();
                    return null;
                case "content":
                    return content(cache.getCurrentData());
                default:
                    throw Thing.unknown(verb);
            }
        }
    }
}
