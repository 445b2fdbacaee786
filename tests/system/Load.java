import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes records: given ones, or very many that are made here.
 *
 *  A made record's value is JSON-like text: a number that no other record of
 *  its partition has, words that compress (about half of the bytes) and
 *  hexadecimal noise that hardly does; `zeros` per cent of it are zeros. */
final class Load {
    private static final byte[] HEX = "0123456789abcdef".getBytes();
    private final Set<String> stopped = ConcurrentHashMap.newKeySet();
    private final Map<String, KafkaProducer<byte[], byte[]>> open =
        new ConcurrentHashMap<>();

    private static KafkaProducer<byte[], byte[]> producer(JsonNode ask,
        String txn) {
        Map<String, Object> config = Kit.client(ask.get("cluster"));

        config.put("acks", "all");
        config.put("linger.ms", 10);
        config.put("batch.size", 131072);
        config.put("buffer.memory", 33554432L);
        config.put("max.request.size", 16777216);
        if (ask.has("codec"))
            config.put("compression.type", ask.get("codec").asText());
        if (txn != null) {
            config.put("transactional.id", txn);
            config.put("transaction.timeout.ms", 600000);
        }
        return new KafkaProducer<>(config, new ByteArraySerializer(),
            new ByteArraySerializer());
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null
            : Base64.getDecoder().decode(node.asText());
    }

    private static ProducerRecord<byte[], byte[]> record(String topic,
        JsonNode node) {
        RecordHeaders headers = new RecordHeaders();

        if (node.has("headers"))
            for (JsonNode header : node.get("headers"))
                headers.add(header.get(0).asText(), bytes(header.get(1)));
        return new ProducerRecord<>(topic, node.path("partition").asInt(),
            node.has("timestamp") ? node.get("timestamp").asLong() : null,
            bytes(node.get("key")), bytes(node.get("value")), headers);
    }

    private static ArrayNode send(KafkaProducer<byte[], byte[]> producer,
        JsonNode ask) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        ArrayNode offsets = Kit.JSON.createArrayNode();

        for (JsonNode node : ask.get("records"))
            sent.add(producer.send(record(ask.get("topic").asText(), node)));
        producer.flush();
        for (Future<RecordMetadata> one : sent)
            offsets.add(one.get().offset());
        return offsets;
    }

    JsonNode produce(JsonNode ask) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(ask, null)) {
            return send(producer, ask);
        }
    }

    /** A transactional producer that stays open between requests. */
    JsonNode txn(JsonNode ask) throws Exception {
        String name = ask.get("name").asText();
        KafkaProducer<byte[], byte[]> producer = open.get(name);

        switch (ask.get("action").asText()) {
        case "begin":
            if (producer == null) {
                producer = producer(ask, name);
                producer.initTransactions();
                open.put(name, producer);
            }
            producer.beginTransaction();
            return null;
        case "send":
            return send(producer, ask);
        case "commit":
            producer.commitTransaction();
            return null;
        case "abort":
            producer.abortTransaction();
            return null;
        default:
            open.remove(name);
            producer.close();
            return null;
        }
    }

    JsonNode stop(JsonNode ask) {
        stopped.add(ask.get("name").asText());
        return null;
    }

    /** `records` of them (0: until stopped), at most `rate` a second. */
    JsonNode load(JsonNode ask) throws Exception {
        String name = ask.path("name").asText("");
        long records = ask.get("records").asLong();
        long rate = ask.path("rate").asLong(0);
        AtomicReference<Exception> failed = new AtomicReference<>();
        long start = System.nanoTime();
        long n = 0;

        try (KafkaProducer<byte[], byte[]> producer = producer(ask, null)) {
            Maker maker = new Maker(ask);
            for (; records == 0 || n < records; n++) {
                if (stopped.contains(name) || failed.get() != null)
                    break;
                if (rate > 0 && n % 50 == 0)
                    pause(start + n * 1000000000L / rate);
                producer.send(maker.make(n), (metadata, e) -> {
                    if (e != null)
                        failed.set(e);
                });
            }
        }
        stopped.remove(name);
        if (failed.get() != null)
            throw failed.get();
        ObjectNode out = Kit.JSON.createObjectNode();
        out.put("records", n);
        out.put("ms", (System.nanoTime() - start) / 1000000);
        return out;
    }

    private static void pause(long until) throws InterruptedException {
        long left = until - System.nanoTime();

        if (left > 0)
            Thread.sleep(left / 1000000, (int)(left % 1000000));
    }

    /** Record n goes to partition n mod partitions of topic by topic. */
    private static final class Maker {
        private final List<String> topics = new ArrayList<>();
        private final int partitions, size, first, headers, zeros;
        private final byte[] words = new byte[1 << 16];
        private final byte[] noise = new byte[1 << 20];
        private final long base = System.currentTimeMillis();

        Maker(JsonNode ask) {
            Random random = new Random(ask.path("seed").asLong(1));

            ask.get("topics").forEach(t -> topics.add(t.asText()));
            partitions = ask.get("partitions").asInt();
            first = ask.path("first").asInt(0);
            size = ask.path("size").asInt(200);
            headers = ask.path("headers").asInt(0);
            zeros = ask.path("zeros").asInt(0);
            for (int i = 0; i < noise.length; i++)
                noise[i] = HEX[random.nextInt(16)];
            String[] fields = { "\"temperature\":", "\"pressure\":",
                "\"state\":\"running\",", "\"unit\":\"bar\",", "\"line\":" };
            StringBuilder text = new StringBuilder();
            while (text.length() < words.length)
                text.append(fields[random.nextInt(fields.length)])
                    .append(random.nextInt(1000)).append(',');
            System.arraycopy(text.toString().getBytes(), 0, words, 0,
                words.length);
        }

        ProducerRecord<byte[], byte[]> make(long n) {
            int at = (int)(n % ((long)topics.size() * partitions));
            String topic = topics.get(at / partitions);
            byte[] value = value(n);
            byte[] key = n % 7 == 3 ? null : ("key-" + n % 5003).getBytes();
            ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                topic, first + at % partitions, base + n / 10, key, value);

            for (int i = 0; i < headers; i++)
                record.headers().add("h" + i % 2,
                    i % 3 == 2 ? null : Long.toString(n + i).getBytes());
            return record;
        }

        private byte[] value(long n) {
            byte[] value = new byte[size];
            byte[] head = ("{\"n\":" + n + ",").getBytes();
            int used = Math.min(head.length, size);
            int filled = (int)((size - used) * (100L - zeros) / 100);
            int half = filled / 2;

            System.arraycopy(head, 0, value, 0, used);
            System.arraycopy(words, spot(n * 131, words, half), value, used,
                half);
            used += half;
            System.arraycopy(noise, spot(n * 7919, noise, filled - half), value,
                used, filled - half);
            return value;
        }

        private static int spot(long n, byte[] from, int length) {
            return (int)(n % (from.length - length));
        }
    }
}
