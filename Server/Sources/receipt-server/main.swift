import HTTPService
import ReceiptService

print(RouteTable(healthRoutes()).routes.count)
