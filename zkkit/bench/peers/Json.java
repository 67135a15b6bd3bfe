import java.util.Collection;

/** Values as JSON; bytes are written as hexadecimal digits. */
final class Json {
    private Json() {}

    static String of(Object value) {
        if (value instanceof Collection) {
            StringBuilder text = new StringBuilder("[");
            for (Object each : (Collection<?>) value) {
                text.append(text.length() > 1 ? ", " : "").append(of(each));
            }
            return text.append("]").toString();
        }
        if (value instanceof byte[]) {
            return "\"" + hex((byte[]) value) + "\"";
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

    private static String hex(byte[] bytes) {
        StringBuilder digits = new StringBuilder();
        for (byte each : bytes) {
            digits.append(String.format("%02x", each));
        }
        return digits.toString();
    }

    static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int at = 0; at < bytes.length; at++) {
            bytes[at] = (byte) Integer.parseInt(hex.substring(2 * at, 2 * at + 2), 16);
        }
        return bytes;
    }
}
