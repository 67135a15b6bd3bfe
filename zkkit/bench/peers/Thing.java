/** Something of Curator's that an actor has opened: it obeys verbs of its own. */
interface Thing {
    /** What the verb gives: null, a boolean, a number, text, bytes, or a list of these. */
    Object obey(String verb, String[] given) throws Exception;

    /** The client is closed: end what would go on trying. */
    default void end() {}

    static IllegalArgumentException unknown(String verb) {
        return new IllegalArgumentException("no such verb: " + verb);
    }
}
