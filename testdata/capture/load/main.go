// Command load gives a running nats-server or etcd an ordinary workload at a bounded rate, so
// that their profiles show real work:
//
//	load nats 127.0.0.1:4222 30s
//	load etcd 127.0.0.1:2379 30s
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: load nats|etcd HOST:PORT DURATION")
	}
	length, err := time.ParseDuration(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()

	switch os.Args[1] {
	case "nats":
		err = loadNATS(ctx, "nats://"+os.Args[2])
	case "etcd":
		err = loadEtcd(ctx, os.Args[2])
	default:
		err = fmt.Errorf("unknown program %q", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// workers runs n concurrent loops of f, each with a pause of interval, until the context ends.
// f gets the number of the worker and of the turn. Errors are ignored: at the end of the run
// some are certain.
func workers(ctx context.Context, wg *sync.WaitGroup, n int, interval time.Duration, f func(worker, turn int)) {
	for w := range n {
		wg.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for turn := 0; ; turn++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					f(w, turn)
				}
			}
		})
	}
}

// loadNATS publishes and subscribes, sends requests and replies, and works with two streams
// (one on disk, one in memory) through push and pull consumers, a key-value bucket and an
// object store.
func loadNATS(ctx context.Context, url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	sub, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer sub.Close()
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	subJS, err := sub.JetStream()
	if err != nil {
		return err
	}

	for _, s := range []nats.StreamConfig{
		{Name: "ORDERS", Subjects: []string{"orders.*"}, Storage: nats.FileStorage, MaxMsgs: 20_000},
		{Name: "EVENTS", Subjects: []string{"events.>"}, Storage: nats.MemoryStorage, MaxMsgsPerSubject: 100},
	} {
		if _, err := js.AddStream(&s); err != nil {
			return err
		}
	}
	kv, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "settings", History: 5})
	if err != nil {
		return err
	}
	files, err := js.CreateObjectStore(&nats.ObjectStoreConfig{Bucket: "files"})
	if err != nil {
		return err
	}

	ignore := func(*nats.Msg) {}
	for range 3 {
		if _, err := sub.QueueSubscribe("plain.*", "crew", ignore); err != nil {
			return err
		}
	}
	if _, err := sub.Subscribe("plain.>", ignore); err != nil {
		return err
	}
	if _, err := sub.Subscribe("ask", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
		return err
	}
	if _, err := subJS.Subscribe("events.>", func(m *nats.Msg) { m.Ack() }, nats.Durable("auditor"), nats.ManualAck()); err != nil {
		return err
	}
	puller, err := subJS.PullSubscribe("orders.*", "billing")
	if err != nil {
		return err
	}
	if _, err := kv.WatchAll(nats.Context(ctx)); err != nil {
		return err
	}

	var wg sync.WaitGroup
	body := make([]byte, 512)
	workers(ctx, &wg, 4, time.Millisecond, func(w, turn int) {
		nc.Publish(fmt.Sprintf("plain.%d", turn%50), body)
		nc.Publish(fmt.Sprintf("plain.%d.%d", w, turn%50), body)
	})
	workers(ctx, &wg, 2, 2*time.Millisecond, func(int, int) { nc.Request("ask", body, time.Second) })
	workers(ctx, &wg, 4, time.Millisecond, func(w, turn int) {
		js.Publish(fmt.Sprintf("orders.%d", turn%200), body)
		js.Publish(fmt.Sprintf("events.%d.%d", w, turn%100), body)
	})
	workers(ctx, &wg, 2, 5*time.Millisecond, func(int, int) {
		batch, _ := puller.Fetch(20, nats.MaxWait(100*time.Millisecond))
		for _, m := range batch {
			m.Ack()
		}
	})
	workers(ctx, &wg, 2, 3*time.Millisecond, func(w, turn int) {
		key := fmt.Sprintf("key%d.%d", w, turn%300)
		kv.Put(key, body)
		kv.Get(key)
		if turn%10 == 0 {
			kv.Delete(key)
		}
	})
	workers(ctx, &wg, 1, 50*time.Millisecond, func(_, turn int) {
		name := fmt.Sprintf("file%d", turn%20)
		files.PutBytes(name, make([]byte, 200_000))
		files.GetBytes(name)
	})
	workers(ctx, &wg, 1, 500*time.Millisecond, func(int, int) {
		js.StreamInfo("ORDERS")
		js.ConsumerInfo("ORDERS", "billing")
		js.AccountInfo()
	})
	workers(ctx, &wg, 2, 20*time.Millisecond, func(int, int) {
		if short, err := nats.Connect(url); err == nil {
			s, _ := short.SubscribeSync("plain.7")
			short.Flush()
			s.Unsubscribe()
			short.Close()
		}
	})
	wg.Wait()
	return nil
}

// loadEtcd writes and reads keys, runs transactions, watches, keeps leases
// alive, takes locks, and compacts now and then.
func loadEtcd(ctx context.Context, endpoint string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer client.Close()

	for w := range 8 {
		go func() {
			for range client.Watch(ctx, fmt.Sprintf("app/%d/", w), clientv3.WithPrefix(), clientv3.WithPrevKV()) {
			}
		}()
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(5))
	if err != nil {
		return err
	}
	defer session.Close()

	var wg sync.WaitGroup
	value := string(make([]byte, 400))
	workers(ctx, &wg, 8, 3*time.Millisecond, func(w, turn int) {
		client.Put(ctx, fmt.Sprintf("app/%d/%d", w, turn%500), value)
	})
	workers(ctx, &wg, 8, 3*time.Millisecond, func(w, turn int) {
		client.Get(ctx, fmt.Sprintf("app/%d/%d", w, turn%500))
		client.Get(ctx, fmt.Sprintf("app/%d/", w), clientv3.WithPrefix(), clientv3.WithLimit(50), clientv3.WithSerializable())
	})
	workers(ctx, &wg, 4, 5*time.Millisecond, func(w, turn int) {
		key := fmt.Sprintf("app/%d/count%d", w, turn%10)
		client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), ">", 0)).
			Then(clientv3.OpPut(key, "again"), clientv3.OpGet(key)).
			Else(clientv3.OpPut(key, "first")).
			Commit()
		if turn%20 == 0 {
			client.Delete(ctx, fmt.Sprintf("app/%d/1", w), clientv3.WithPrefix())
		}
	})
	workers(ctx, &wg, 2, 20*time.Millisecond, func(w, turn int) {
		lease, err := client.Grant(ctx, 2)
		if err != nil {
			return
		}
		client.Put(ctx, fmt.Sprintf("lease/%d/%d", w, turn), "x", clientv3.WithLease(lease.ID))
		client.KeepAliveOnce(ctx, lease.ID)
		if turn%2 == 0 {
			client.Revoke(ctx, lease.ID)
		}
	})
	workers(ctx, &wg, 3, 10*time.Millisecond, func(int, int) {
		mutex := concurrency.NewMutex(session, "locks/one")
		if mutex.Lock(ctx) == nil {
			mutex.Unlock(ctx)
		}
	})
	workers(ctx, &wg, 1, 2*time.Second, func(int, int) {
		if r, err := client.Get(ctx, "app/0/0"); err == nil {
			client.Compact(ctx, r.Header.Revision)
		}
		client.Status(ctx, endpoint)
		client.MemberList(ctx)
	})
	wg.Wait()
	return nil
}
