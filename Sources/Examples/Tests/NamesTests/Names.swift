// The aliases of Porting.md, which settle the names for every file of the module.
import RondoFoundation

typealias RunLoop = RondoFoundation.RunLoop
typealias Timer = RondoFoundation.Timer
typealias NotificationQueue = RondoFoundation.NotificationQueue
typealias Port = RondoFoundation.Port
typealias MessagePort = RondoFoundation.MessagePort
typealias SocketPort = RondoFoundation.SocketPort
typealias PortMessage = RondoFoundation.PortMessage
typealias PortDelegate = RondoFoundation.PortDelegate
