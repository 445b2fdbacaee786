import kafka.Kafka;
import kafka.tools.StorageTool;

/** Formats the log folder, where that is still to be done, and runs a broker:
 *  one start of a Java machine instead of two.
 *  Broker CONFIG CLUSTER-ID [options of StorageTool's format] */
public final class Broker {
    public static void main(String[] args) {
        String[] format = new String[args.length + 4];
        format[0] = "format";
        format[1] = "--ignore-formatted";
        format[2] = "-c";
        format[3] = args[0];
        format[4] = "-t";
        format[5] = args[1];
        System.arraycopy(args, 2, format, 6, args.length - 2);
        if (StorageTool.execute(format, System.out) != 0)
            System.exit(1);
        Kafka.main(new String[] { args[0] });
    }
}
