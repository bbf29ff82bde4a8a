// A worker in Java, for one queue, with the JDBC driver of PostgreSQL and Java 17 or newer:
//
//     java -cp postgresql.jar Worker.java 'jdbc:postgresql://localhost/shop' mail
//
// It runs one job after the other, is woken when there is work, and extends the lease of what it
// runs. SIGTERM or Ctrl-C: it ends its job and takes no more. When the database goes away it ends
// with an error: let what started it start it again. Its job runs again by itself.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.postgresql.PGConnection;

public class Worker {
    static final int LEASE = 30;  // seconds for which a job is held, if nobody extends that
    static final Set<String> LOST = Set.of("PB002", "PB003", "PB004");  // the job is not ours any more

    record Job(long id, long leaseToken, int attempt, String to, double sleep, AtomicBoolean mustStop) {}

    static class Stopped extends Exception {}

    final Connection connection;
    final String queue;
    final String workerId = "java/" + ProcessHandle.current().pid();
    volatile boolean isStopping;
    volatile Job running;

    Worker(Connection connection, String queue) {
        this.connection = connection;
        this.queue = queue;
    }

    // 1. Your part -------------------------------------------------------------------------------
    // May run twice for a job. What it returns is the result, a text; what it throws, the error.
    String handle(Job job) throws Exception {
        long end = System.nanoTime() + (long) (job.sleep() * 1e9);
        while (System.nanoTime() < end) {
            if (job.mustStop().get()) throw new Stopped();
            Thread.sleep(20);
        }
        if (job.to() == null) throw new IllegalArgumentException("nobody to send it to");
        System.out.printf("job %d, attempt %d: to %s%n", job.id(), job.attempt(), job.to());
        return job.to();
    }

    // 2. One job ---------------------------------------------------------------------------------
    void run(Job job) throws SQLException {
        running = job;
        try {
            finish(job);
        } catch (SQLException error) {
            if (!isLoss(error)) throw error;
            System.err.printf("the outcome of job %d is dropped: %s%n", job.id(), error.getMessage());
        } finally {
            running = null;
        }
    }

    void finish(Job job) throws SQLException {
        try {
            String result = handle(job);
            call("select pgbaton.complete_job(?, to_jsonb(?::text), ?)", job.id(), result, job.leaseToken());
        } catch (Stopped error) {
            call("select pgbaton.acknowledge_cancellation(?, true, ?)", job.id(), job.leaseToken());
        } catch (Exception error) {
            if (isLoss(error)) throw (SQLException) error;
            String said = error.toString().replace("\0", "");  // which no text of PostgreSQL may hold
            call("select pgbaton.fail_job(?, ?, ?)", job.id(), said, job.leaseToken());
        }
    }

    static boolean isLoss(Exception error) {
        return error instanceof SQLException refusal && LOST.contains(refusal.getSQLState());
    }

    void extendLease() {
        Job job = running;
        if (job == null) return;
        try (PreparedStatement statement = prepare(
                "select verdict from pgbaton.extend_leases(array[?], ?, make_interval(secs => ?))",
                job.id(), job.leaseToken(), LEASE);
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            if (!rows.getString(1).equals("ok")) job.mustStop().set(true);  // cancelled, or lost
        } catch (SQLException error) {
            System.err.println("the lease was not extended: " + error.getMessage());
        }
    }

    // 3. All jobs --------------------------------------------------------------------------------
    void work() throws SQLException {
        ScheduledExecutorService keeper = Executors.newSingleThreadScheduledExecutor();
        keeper.scheduleAtFixedRate(this::extendLease, LEASE * 1000 / 3, LEASE * 1000 / 3, TimeUnit.MILLISECONDS);
        try {
            lieDown(true);
            while (!isStopping) {
                Job job = claim();
                if (job != null) {
                    run(job);
                } else {
                    nap(lieDown(false));
                }
            }
            call("select pgbaton.unregister_worker(?)", workerId);
        } finally {
            keeper.shutdown();
        }
    }

    Job claim() throws SQLException {
        try (PreparedStatement statement = prepare(
                "select id, lease_token, attempt, payload ->> 'to',"
                // An error here would end the worker, again and again.
                + " case jsonb_typeof(payload -> 'sleep') when 'number' then (payload -> 'sleep')::float8 else 0 end"
                + " from pgbaton.claim_job_batch(?, ?, batch_size => 1, lease => make_interval(secs => ?))",
                workerId, texts(queue), LEASE);
                ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) return null;
            return new Job(rows.getLong(1), rows.getLong(2), rows.getInt(3), rows.getString(4),
                    rows.getDouble(5), new AtomicBoolean());
        }
    }

    /** Says that it goes to sleep, and returns for how many seconds; the first time it learns where it is woken. */
    double lieDown(boolean isFirst) throws SQLException {
        try (PreparedStatement statement = prepare(
                "select quote_ident(channel), extract(epoch from wait) from pgbaton.wait_for_jobs(?, ?)",
                workerId, texts(queue));
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            double seconds = rows.getDouble(2);
            if (isFirst) call("listen " + rows.getString(1));
            return seconds;
        }
    }

    /** A second at most, since a notification wakes it and a signal does not. */
    void nap(double seconds) throws SQLException {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        PGConnection notified = connection.unwrap(PGConnection.class);
        while (!isStopping && System.nanoTime() < end) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (notified.getNotifications((int) Math.max(1, Math.min(left, 1000))).length > 0) return;
        }
    }

    // 4. Calls -----------------------------------------------------------------------------------
    java.sql.Array texts(String... values) throws SQLException {
        return connection.createArrayOf("text", values);
    }

    PreparedStatement prepare(String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
        return statement;
    }

    void call(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values)) {
            statement.execute();  // not executeUpdate: a function that returns void returns a row
        }
    }

    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0])) {
            Worker worker = new Worker(connection, args[1]);
            Thread main = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                worker.isStopping = true;
                try {
                    main.join();
                } catch (InterruptedException ignored) {
                    // asked twice
                }
            }));
            worker.work();
        }
    }
}
